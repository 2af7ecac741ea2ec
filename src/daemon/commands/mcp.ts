import { serveStream } from '../../serve/mcp/stdio.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { ignoreAbort } from '../abort-error.ts'
import { auditLogOf, withAudit } from '../audit-log.ts'
import { systemClock } from '../clock.ts'
import { Follower } from '../follower.ts'
import type { Config } from '../config.ts'
import { expectLock } from '../lock-rules.ts'
import type { Log } from '../log.ts'
import { agreeWithDaemon } from '../requests.ts'
import { Writer } from '../writer.ts'
import { MODE_DETAILS, MODE_OPTIONS, configOf, logOf } from './command.ts'
import type { Command, Context } from './command.ts'

/** The first answer of a state folder that holds nothing yet waits so long for the first pull. */
const FIRST_PULL_MS = 5_000

/** How often a follower looks whether anybody writes. */
const TAKE_OVER_MS = 10_000

export const mcp: Command = {
  name: 'mcp',
  summary: 'Serve one MCP client over stdio',
  details: MODE_DETAILS,
  options: MODE_OPTIONS,
  async run(context) {
    const config = await configOf(context)
    await expectLock(config)
    await agreeWithDaemon(config, context.signal)
    const log = logOf(context)
    const ended = new AbortController()
    const signal = AbortSignal.any([context.signal, ended.signal])
    await using follower = await Follower.open(config, log, systemClock)
    await using audit = auditLogOf(config, 'stdio', log, systemClock)
    const keeping = keepWriting(context, config, log, follower, signal)
    try {
      await follower.hasGeneration(FIRST_PULL_MS, signal)
      await serveStream(
        withAudit(follower.serving, audit),
        context.streams.stdin,
        context.streams.stdout,
        context.signal,
      )
    } finally {
      ended.abort()
      await keeping
    }
    return 0
  },
}

/** Writes the state folder while nobody else does; goes on as a follower when a daemon asks for the lock. */
async function keepWriting(
  context: Context,
  config: Config,
  log: Log,
  follower: Follower,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await write(context, config, log, follower, signal).catch((error: unknown) => {
      // A folder that cannot be written can be read all the same.
      if (!(error instanceof SyncError)) throw error
      log.failure('warn', 'cannot-write', { source: '', code: error.code, message: error.message })
    })
    follower.writesElsewhere()
    await systemClock.wait(TAKE_OVER_MS, signal).catch(ignoreAbort)
  }
}

/** Pulls on schedule until the end or a handover. Ends at once where somebody else writes. */
async function write(
  context: Context,
  config: Config,
  log: Log,
  follower: Follower,
  signal: AbortSignal,
): Promise<void> {
  const { environment, redactor } = context
  const handedOver = Promise.withResolvers<void>()
  const handlers = {
    handover: async (): Promise<null> => {
      handedOver.resolve()
      return null
    },
  }
  const writer = await Writer.open({ config, environment, log, redactor, command: 'mcp', handlers })
  if ('heldBy' in writer) return
  await using _writer = writer
  using _reading = follower.readWith(writer.daemon.serving.read)
  using _looking = follower.lookWith((source) => writer.daemon.look(source))
  // A look rejects only in a way that is to end the process.
  using _listening = writer.daemon.registry.listen(() => void follower.look())
  writer.daemon.poll()
  await Promise.race([handedOver.promise, aborted(signal)])
}

async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) return
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
