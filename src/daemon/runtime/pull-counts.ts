import type { Outcome } from '../../sync/model/outcome.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'

/** The number of pulls of a source with the same outcome and code. */
export interface PullEnds {
  readonly outcome: Outcome['kind']
  /** The reason if the pull failed or waits; otherwise the code of its drift, if any. */
  readonly code: SyncErrorCode | undefined
  readonly count: number
}

/** The pulls of one source since the process started. */
export interface Pulls {
  readonly ends: readonly PullEnds[]
  readonly count: number
  readonly tookMs: number
}

/** Counts pulls. The number of counters is bounded by sources, outcomes and codes. */
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
    case 'waiting':
      return outcome.reason.code
    case 'unchanged':
    case 'updated':
      return outcome.drift?.error.code
    default:
      return outcome satisfies never
  }
}
