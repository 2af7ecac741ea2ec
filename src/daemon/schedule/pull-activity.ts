import type { SourceId } from '../../sync/model/source-id.ts'
import type { Clock } from '../../base/clock.ts'

/** When sources were looked at, and whether there may be news of them since. */
export class Attempts {
  readonly #clock: Clock
  /** When the look at each source began that is under way. */
  readonly #began = new Map<SourceId, Date>()
  /** When the last look at each source ended, on both clocks. */
  readonly #ended = new Map<SourceId, Moment>()
  readonly #news: Set<SourceId>
  /** Until when what the last look at each server found is fresh, by its own word. */
  readonly #freshUntil = new Map<SourceId, Moment>()

  /** `unseen`: folders, of which this process saw none so far. */
  constructor(unseen: Iterable<SourceId>, clock: Clock) {
    this.#news = new Set(unseen)
    this.#clock = clock
  }

  /** When the look at each source began that is under way. */
  get lookingSince(): ReadonlyMap<SourceId, Date> {
    return this.#began
  }

  /** Until disposed, a look at the source is under way. */
  begin(source: SourceId): Disposable {
    const began = this.#clock.now()
    this.#began.set(source, began)
    return {
      // One that lost its lane may end when the next is under way.
      [Symbol.dispose]: () => void (this.#began.get(source) === began && this.#began.delete(source)),
    }
  }

  end(source: SourceId): void {
    this.#ended.set(source, this.#moment())
  }

  /** How long ago the last look at the source ended. `lastAttempt` is that of an earlier process; infinite without any. */
  sinceMs(source: SourceId, lastAttempt: string | undefined): number {
    const ended = this.#ended.get(source)
    // By the clock that says the most: one is set back, the other stands still while the machine sleeps.
    if (ended !== undefined)
      return Math.max(this.#clock.monotonicMs() - ended.monotonicMs, this.#clock.now().getTime() - ended.wallMs)
    const sinceMs = lastAttempt === undefined ? -1 : this.#clock.now().getTime() - Date.parse(lastAttempt)
    return sinceMs < 0 ? Number.POSITIVE_INFINITY : sinceMs
  }

  /** Something changed in a folder or at a server, of use or not. */
  heard(source: SourceId): void {
    this.#news.add(source)
  }

  /** From here on a look sees what was heard of before, and nothing is fresh. */
  seen(source: SourceId): void {
    this.#news.delete(source)
    this.#freshUntil.delete(source)
  }

  /** A server calls what it lists fresh for so long. */
  lists(source: SourceId, ttlMs: number): void {
    const { wallMs, monotonicMs } = this.#moment()
    this.#freshUntil.set(source, { wallMs: wallMs + ttlMs, monotonicMs: monotonicMs + ttlMs })
  }

  /** How much longer what the last look found is fresh; not at all once something was heard. */
  freshMs(source: SourceId): number {
    const until = this.#freshUntil.get(source)
    if (until === undefined || this.#news.has(source)) return 0
    const now = this.#moment()
    // By the clock that says the least: one stands still while the machine sleeps.
    return Math.max(0, Math.min(until.wallMs - now.wallMs, until.monotonicMs - now.monotonicMs))
  }

  /** Whether something may have changed in a folder or at a server since the last look at it began. */
  hasNews(source: SourceId): boolean {
    return this.#news.has(source)
  }

  #moment(): Moment {
    return { wallMs: this.#clock.now().getTime(), monotonicMs: this.#clock.monotonicMs() }
  }
}

/** A time on both clocks. */
interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}
