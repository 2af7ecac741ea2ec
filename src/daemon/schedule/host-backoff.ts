import type { Source } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Clock } from '../../base/clock.ts'

/** Which hosts asked to be left alone, and until when. It holds for all of their sources, whoever asks for a pull. */
export class Hosts {
  readonly #clock: Clock
  /** On the monotonic clock. */
  readonly #closedUntilMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Leaves the host alone for so long from now on, and no shorter than it asked before. */
  close(host: string, ms: number): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(ms, LONGEST_CLOSED_MS)
    this.#closedUntilMs.set(host, Math.max(untilMs, this.#closedUntilMs.get(host) ?? 0))
  }

  /** How long the host is still to be left alone. */
  closedMs(host: string): number {
    return Math.max(0, (this.#closedUntilMs.get(host) ?? 0) - this.#clock.monotonicMs())
  }
}

/** What is said of a source that is not pulled, since its host is to be left alone for so long. */
export function leftAlone(source: SourceId, ms: number): SyncError {
  const message = `Cannot pull "${source}": its host asked for a pause, and ${Math.ceil(ms / 1000)} s of it are left`
  return new SyncError('rate-limited', message, { retryAfterMs: ms })
}

/** A host that asks for years is asked again after a day. */
const LONGEST_CLOSED_MS = 86_400_000

/** The host that a source's pulls are counted against. A repository on this disk has none, and is counted by itself. */
export function hostOf(source: Source): string {
  // `git@host:path` is no URL.
  const host = URL.parse(source.url)?.host ?? /^(?:[^/@]+@)?([^/:]+):/.exec(source.url)?.[1]
  return host === undefined || host === '' ? source.id : host
}
