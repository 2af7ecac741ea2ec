import { countOf } from '../../../base/text/plural.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { progressOf } from '../../cli/command.ts'
import type { Context, ExitStatus } from '../../cli/command.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { failureLines, noSkillLines, probeSource, serverAt, sourceCandidateOf, unreadSource } from './source-probe.ts'
import type { FoundSource } from './source-probe.ts'

/**
 * Reads each place that the command line names, but none with `--offline` or `--mcp`. If one cannot be read, or has no
 * skill, prints all such reasons and returns the exit status.
 */
export async function probeAll(
  texts: readonly string[],
  context: Context,
): Promise<readonly FoundSource[] | ExitStatus> {
  if (context.values['mcp'] === true)
    return usable(await Promise.all(texts.map(async (text) => serverAt(text, context)))).map((place) => ({
      place,
      seen: undefined,
    }))
  const candidates = usable(await Promise.all(texts.map(async (text) => sourceCandidateOf(text, context))))
  if (context.values['offline'] === true) return Promise.all(candidates.map(unreadSource))
  using progress = progressOf(context)
  const found: FoundSource[] = []
  const failed: string[] = []
  for (const [index, candidate] of candidates.entries()) {
    progress.count(index, candidates.length, `reading ${index + 1} of ${countOf(candidates.length, 'place')}`)
    const probed = await probeSource(candidate, context)
    if (probed instanceof SyncError) failed.push(...failureLines(probed))
    else found.push(probed)
  }
  progress.show('')
  const empty = found.flatMap(noSkillLines)
  if (failed.length + empty.length === 0) return found
  const lines = [...failed, ...empty, 'Nothing was written; --offline writes without reading']
  context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(lines.join('\n'))}\n`)
  return failed.length > 0 ? 1 : 3
}

/** Throws for the first address with a fault. */
function usable<Place extends object>(places: readonly (Place | string)[]): readonly Place[] {
  return places.map((place, index) => {
    if (typeof place === 'object') return place
    throw new UsageError(`Cannot use ${places.length > 1 ? `address ${index + 1}` : 'the address'}: it ${place}`)
  })
}
