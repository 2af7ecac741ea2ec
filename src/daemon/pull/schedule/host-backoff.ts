import type { Clock } from '../../../base/async/clock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'

/** The hosts that requested a backoff, and its end. It applies to all of their sources, for any trigger. */
export class HostBackoff {
  readonly #clock: Clock
  /** On the monotonic clock. */
  readonly #closedUntilMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Starts a backoff of this length, or keeps the one in force if that is longer. */
  close(host: string, ms: number): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(ms, LONGEST_CLOSED_MS)
    this.#closedUntilMs.set(host, Math.max(untilMs, this.#closedUntilMs.get(host) ?? 0))
  }

  /** The remaining backoff of the host. */
  closedMs(host: string): number {
    return Math.max(0, (this.#closedUntilMs.get(host) ?? 0) - this.#clock.monotonicMs())
  }
}

/** The error for a source that is not pulled because its host is in backoff for this time. */
export function leftAlone(source: SourceId, ms: number): SyncError {
  const message = `Cannot pull "${source}": its host requested a pause, and ${Math.ceil(ms / 1000)} s of it are left`
  return new SyncError('rate-limited', message, { retryAfterMs: ms })
}

/** A host that requests a backoff of years is queried again after a day. */
const LONGEST_CLOSED_MS = 86_400_000

/**
 * The host that the limits of a source are counted by. A repository on this disk has no host and is counted by itself.
 */
export function hostOf(source: Source): string {
  // `git@host:path` is not a URL.
  const host = URL.parse(source.url)?.host ?? /^(?:[^/@]+@)?([^/:]+):/.exec(source.url)?.[1]
  return host === undefined || host === '' ? source.id : host
}
