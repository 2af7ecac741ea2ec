import { countOf } from '../../base/text/plural.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'

/** The state of a daemon. */
export interface DaemonStanding {
  readonly isReadOnly?: boolean
  readonly generation: number
  readonly skills: number
  readonly sources: readonly SourceId[]
  readonly recordOf: (id: SourceId) => Pick<SourceRecord, 'condition' | 'lastSuccess'>
}

/**
 * One line for a service manager: counts, and the source that has been failing for longest. It contains no error
 * messages.
 */
export function statusLine({ isReadOnly, generation, skills, sources, recordOf }: DaemonStanding): string {
  const served = `${isReadOnly === true ? 'read-only, ' : ''}${countOf(skills, 'skill')} of ${countOf(sources.length, 'source')}, generation ${generation}`
  const failing = sources.flatMap((id) => {
    const { condition, lastSuccess } = recordOf(id)
    return condition === undefined ? [] : [{ id, code: condition.code, lastSuccess }]
  })
  const [longest] = failing.toSorted((a, b) => ((a.lastSuccess ?? '') < (b.lastSuccess ?? '') ? -1 : 1))
  if (longest === undefined) return served
  const { id, code, lastSuccess } = longest
  const since = lastSuccess === undefined ? 'never succeeded' : `last success ${lastSuccess}`
  return `${served}; ${failing.length} with a condition, longest "${id}": ${code}, ${since}`
}
