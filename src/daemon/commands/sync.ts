import type { SourceId } from '../../sync/model/source-id.ts'
import type { Config } from '../config.ts'
import { printable } from '../log-line.ts'
import { createProgress } from '../progress.ts'
import { request, sourcesOf } from '../requests.ts'
import { SYNC_END, syncEndOf } from '../sync-end.ts'
import type { SyncEnd } from '../sync-end.ts'
import { becomeWriter } from '../writer.ts'
import { configOf, logOf, printJson, printLines } from './command.ts'
import type { Command, Context } from './command.ts'

/** A first pull of a large repository over a slow line says nothing for long. */
const SYNC_ANSWER_MS = 3_600_000

export const sync: Command = {
  name: 'sync',
  summary: 'Pull now: by the running daemon, or without one',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY },
  async run(context) {
    const config = await configOf(context)
    const ids = sourcesOf(context.operands, config)
    const ends = await pulled(context, config, ids)
    if (context.json) printJson(context, { sources: ends })
    else printLines(context, ends.flatMap(linesOf))
    return ends.some(({ outcome }) => outcome === 'failed') ? 1 : 0
  },
}

/** How it ended for each of the sources, in their order. Where it has got to is shown meanwhile. */
async function pulled(context: Context, config: Config, ids: readonly SourceId[]): Promise<SyncEnd[]> {
  using progress = createProgress({ stream: context.streams.stderr, quiet: context.quiet })
  const ends: SyncEnd[] = []
  const onEnd = (end: SyncEnd): void => {
    ends.push(end)
    progress.show(`${ends.length} of ${ids.length} sources: ${end.source} ${end.outcome}`)
  }
  progress.show(`pulling ${ids.length} of ${config.sources.length} sources`)
  if (!(await byDaemon(context, config, ids, onEnd))) await byOurselves(context, config, ids, onEnd)
  return ids.flatMap((id) => ends.filter(({ source }) => source === id))
}

type OnEnd = (end: SyncEnd) => void

async function byDaemon(
  { signal }: Context,
  config: Config,
  sources: readonly string[],
  onEnd: OnEnd,
): Promise<boolean> {
  const onEvent = (event: unknown): void => onEnd(SYNC_END.parse(event))
  const waiting = { onEvent, signal, timeoutMs: SYNC_ANSWER_MS }
  return (await request(config, 'sync', { sources }, waiting)) !== undefined
}

async function byOurselves(context: Context, config: Config, ids: readonly SourceId[], onEnd: OnEnd): Promise<void> {
  const { environment, redactor, signal } = context
  // Outcomes are this command's result; its log would say them twice.
  const log = logOf({ ...context, logLevel: context.logLevel === 'debug' ? 'debug' : 'error' })
  await using writer = await becomeWriter({ config, environment, log, redactor, command: 'sync' }, signal)
  const pulls = async (id: SourceId): Promise<void> => {
    for (const [source, outcome] of await writer.daemon.sync([id])) onEnd(syncEndOf(source, outcome))
  }
  // The writer awaits the same end when it is disposed; here it makes the pulls reject.
  const stop = (): void => void writer.daemon[Symbol.asyncDispose]()
  // It may have been raised while somebody handed over.
  signal.throwIfAborted()
  signal.addEventListener('abort', stop)
  try {
    await Promise.all(ids.map(pulls))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function linesOf(end: SyncEnd): string[] {
  const { source, outcome, ref, commit, skills, code, message, mend } = end
  if (outcome === 'failed') return [`${source}: failed (${code}): ${printable(message ?? '')}`, `  ${mend}`]
  const at = `${printable(ref ?? '')} at ${commit?.slice(0, 12)}`
  if (skills === undefined) return [`${source}: unchanged, ${at}`]
  const { seen, clean, noted, tools, withheld } = skills
  const served = `${clean + noted} of ${seen} skills served (${noted} with a note), ${tools} for tools only, ${withheld} withheld`
  return [`${source}: updated, ${at}: ${served}`]
}
