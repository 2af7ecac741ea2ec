import { countOf } from '../../../base/text/plural.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { UsageError } from '../../base/usage-error.ts'
import { progressOf } from '../command.ts'
import type { Context } from '../command.ts'
import { failureLines, probeSource, sourceCandidateOf } from './init-source.ts'
import type { FoundSource } from './init-source.ts'

/**
 * Reads each place that the command line names; with `--offline` none is read. Returns `undefined` if one cannot be read,
 * and prints all failures.
 */
export async function probeAll(
  texts: readonly string[],
  context: Context,
): Promise<readonly FoundSource[] | undefined> {
  const candidates = texts.map((text, index) => {
    const candidate = sourceCandidateOf(text, context)
    if (typeof candidate === 'string')
      throw new UsageError(`Cannot use ${texts.length > 1 ? `address ${index + 1}` : 'the address'}: it ${candidate}`)
    return candidate
  })
  if (context.values['offline'] === true) return candidates.map(({ place }) => ({ place, seen: undefined }))
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
  if (failed.length === 0) return found
  const lines = [...failed, 'Nothing was written; --offline writes without reading']
  context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(lines.join('\n'))}\n`)
  return undefined
}
