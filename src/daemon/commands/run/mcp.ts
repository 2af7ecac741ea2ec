import { ignoreAbort, isAbortError } from '../../../base/async/abort-error.ts'
import { systemClock } from '../../../base/async/clock.ts'
import { codeOf } from '../../../base/error-code.ts'
import type { Log } from '../../../base/log.ts'
import { usageRecorderOf, withUsage } from '../../../features/usage/usage-recorder.ts'
import { servingFor } from '../../../serve/mcp/core/methods.ts'
import { serveStream } from '../../../serve/mcp/transports/stdio/stdio.ts'
import { viewOf } from '../../../serve/view.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { MODE_OPTIONS, configFor, logOf } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { packsNamed } from '../../cli/pack-option.ts'
import { ConfigMissingError } from '../../config/find-config.ts'
import type { WholeConfig } from '../../configuration.ts'
import { isListening, lockHolderOf } from '../../control/daemon-lock.ts'
import { handoverRequest } from '../../control/process-requests.ts'
import { handlersOf } from '../../control/request.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { HeldByOther } from '../../control/write-lock.ts'
import type { Follower } from '../../follower.ts'
import { openFollower } from '../../open-follower.ts'
import { expectLock } from '../../pull/trust/lock-rules.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { auditLogOf, withAudit, withRequestLog } from '../../status/audit/audit-log.ts'
import type { WriterCandidate } from '../../writer.ts'

/** The time that the first answer of an empty state folder waits for the first pull. */
const FIRST_PULL_MS = 5_000

/** The interval at which a follower checks for a writer, unless a call finds out earlier that there is none. */
const TAKE_OVER_MS = 10_000

/**
 * The process that took the lock first listens soon; this is the interval of the checks. After `MOST_ASKED` of them, a
 * process that never listens, such as a sync, no longer costs calls.
 */
const LISTENS_MS = 100
const MOST_ASKED = 5

export const mcp: Command = {
  name: 'mcp',
  details: `
  For the configuration of an MCP client that starts its servers itself. It reads the store of a running daemon, or
  pulls itself if none runs.
`,
  examples: [
    'skillsyncd mcp',
    'skillsyncd mcp --source https://git.example.com/team/skills.git',
    'skillsyncd mcp --skills-dir "$PWD/skills"',
  ],
  serves: 'stdio',
  options: {
    ...MODE_OPTIONS,
    pack: {
      type: 'string',
      value: 'P,…',
      multiple: true,
      help: 'serve only these packs; default: everything',
      offers: 'packs',
    },
  },
  async run(context: Context<WholeConfig>) {
    const config = await configFor(context).catch((error: unknown) => {
      if (!(error instanceof ConfigMissingError)) throw error
      throw new ConfigMissingError(
        `${error.message}; skillsyncd mcp --skills-dir /path/of/skills serves a folder without one`,
      )
    })
    if (config.postgres !== undefined) throw new UsageError(NOT_FOR_HUBS)
    const packs = packsNamed(context.values['pack'], config)
    await expectLock(config)
    await agreeWithDaemon(config, context.signal)
    const log = logOf(context)
    const ended = new AbortController()
    const signal = AbortSignal.any([context.signal, ended.signal])
    await using follower = await openFollower(candidateOf({ context, config, log }), systemClock, signal)
    await using audit = auditLogOf(config, 'stdio', log, systemClock)
    await using usage = usageRecorderOf(config, log, systemClock)
    const keeping = keepWriting({ context, config, log, follower }, signal)
    try {
      await follower.hasGeneration(FIRST_PULL_MS, signal)
      const { serving } = follower
      const { name: view } = viewOf({ packs: packs && new Set(packs) }, serving.views)
      const served = withUsage(withAudit(servingFor(serving, view), audit), usage)
      await serveStream(
        context.logLevel === 'debug' ? withRequestLog(served, log) : served,
        { input: context.streams.stdin, output: context.streams.stdout },
        context.signal,
      )
    } finally {
      ended.abort()
      await keeping
    }
    return 0
  },
}

const NOT_FOR_HUBS =
  'mcp cannot use a configuration with store.postgres, which is for the daemons of a hub; connect the client to the address of the hub, or name a configuration without it'

/** A process that follows the state folder, and writes it while no other process does. */
interface FollowingWriter {
  readonly context: Context
  readonly config: WholeConfig
  readonly log: Log
  readonly follower: Follower
}

/** The fault of a process that loads the code of a writer after its package was replaced. */
const REPLACED = {
  code: 'ERR_MODULE_NOT_FOUND',
  message: 'The package of this process was replaced: it serves what is stored, and pulls nothing',
}

/** Writes the state folder while no other process does. Continues as a follower when a daemon requests the lock. */
async function keepWriting(candidate: FollowingWriter, signal: AbortSignal): Promise<void> {
  const { log, follower } = candidate
  let nobody = new AbortController()
  let asked = 0
  while (!signal.aborted) {
    const isHandedOver = await write(candidate, signal).catch((error: unknown) => {
      if (signal.aborted && isAbortError(error)) return false
      // What cannot be written can still be read.
      if (codeOf(error) !== REPLACED.code && !(error instanceof SyncError)) throw error
      const { code, message } = error instanceof SyncError ? error : REPLACED
      log.failure('warn', 'cannot-write', { source: '', code, message })
      return false
    })
    asked = nobody.signal.aborted ? asked + 1 : 0
    if (asked > 0) await systemClock.wait(LISTENS_MS, signal).catch(ignoreAbort)
    const found = (nobody = new AbortController())
    // The process that requested the lock is about to take it.
    follower.writesElsewhere(isHandedOver || asked >= MOST_ASKED ? undefined : () => found.abort())
    await systemClock.wait(TAKE_OVER_MS, AbortSignal.any([signal, found.signal])).catch(ignoreAbort)
  }
}

/**
 * Pulls on schedule until the end or a handover. True if it was a handover. Returns at once if another process writes.
 */
async function write({ context, config, log, follower }: FollowingWriter, signal: AbortSignal): Promise<boolean> {
  const handedOver = Promise.withResolvers<true>()
  const handlers = handlersOf({ config, handOver: () => handedOver.resolve(true) }, handoverRequest)
  // Few processes become the writer, whose code takes long to load.
  const holder = await lockHolderOf(config.state)
  if (holder !== undefined && (await isListening(holder))) return false
  const { Writer } = await import('../../writer.ts')
  const writer = await Writer.open({ ...candidateOf({ context, config, log }), handlers }, signal)
  if ('heldBy' in writer) return false
  await using _writer = writer
  using _reading = follower.readWith(async (...asked) => writer.daemon.parts.contents.read(...asked))
  using _looking = follower.lookWith((source) => writer.daemon.parts.scheduler.refresh(source))
  // It rejects only with an error that is meant to end the process.
  using _listening = writer.daemon.registry.listen(() => void follower.look())
  writer.poll()
  const isHandedOver = await Promise.race([handedOver.promise, untilAborted(AbortSignal.any([signal, writer.lost]))])
  const { reason }: { readonly reason: unknown } = writer.lost
  if (reason instanceof HeldByOther) {
    const { code, message } = reason
    log.failure('warn', 'cannot-write', { source: '', code, message })
  }
  return isHandedOver
}

function candidateOf({ context, config, log }: Omit<FollowingWriter, 'follower'>): WriterCandidate {
  const { environment, redactor } = context
  return { config, environment, log, redactor, command: 'mcp' }
}

async function untilAborted(signal: AbortSignal): Promise<false> {
  const { promise, resolve } = Promise.withResolvers<false>()
  if (signal.aborted) return false
  signal.addEventListener('abort', () => resolve(false), { once: true })
  return promise
}
