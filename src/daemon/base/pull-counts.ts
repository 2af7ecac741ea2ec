import type { Outcome } from '../../sync/model/outcome.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'

/** How often a source's pulls ended so. */
export interface PullEnds {
  readonly outcome: Outcome['kind']
  /** Why it failed or was held; what a person should know where it was neither. */
  readonly code: SyncErrorCode | undefined
  readonly count: number
}

/** What the pulls of one source came to since the process was started. */
export interface Pulls {
  readonly ends: readonly PullEnds[]
  readonly count: number
  readonly tookMs: number
}

/** Counts pulls. There are as many numbers as sources, outcomes and codes. */
export class PullCounts {
  readonly #bySource = new Map<SourceId, { readonly ends: Map<string, Counted>; count: number; tookMs: number }>()

  add(source: SourceId, outcome: Outcome, tookMs: number): void {
    const pulls = this.#bySource.get(source) ?? { ends: new Map<string, Counted>(), count: 0, tookMs: 0 }
    this.#bySource.set(source, pulls)
    pulls.count += 1
    pulls.tookMs += tookMs
    const code = codeOf(outcome)
    const key = `${outcome.kind} ${code}`
    const ends = pulls.ends.get(key) ?? { outcome: outcome.kind, code, count: 0 }
    pulls.ends.set(key, ends)
    ends.count += 1
  }

  of(source: SourceId): Pulls {
    const pulls = this.#bySource.get(source)
    return { ends: [...(pulls?.ends.values() ?? [])], count: pulls?.count ?? 0, tookMs: pulls?.tookMs ?? 0 }
  }
}

interface Counted extends PullEnds {
  count: number
}

function codeOf(outcome: Outcome): SyncErrorCode | undefined {
  switch (outcome.kind) {
    case 'failed':
      return outcome.error.code
    case 'held':
      return outcome.reason.code
    case 'unchanged':
    case 'updated':
      return outcome.drift?.error.code
    default:
      return outcome satisfies never
  }
}
