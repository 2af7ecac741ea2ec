import type { Clock } from '../../../base/async/clock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'

/** Tracks the times of pulls, the amounts that they fetch, and possible changes since. */
export class PullActivity {
  readonly #clock: Clock
  /** The start of the running pull of each source. */
  readonly #began = new Map<SourceId, Date>()
  /** The amount that the last pull of each source has fetched. */
  readonly #fetched = new Map<SourceId, FetchedAmount>()
  readonly #watching = new Map<SourceId, Set<(fetched: FetchedAmount) => void>>()
  /** The end of the last pull of each source, on both clocks. */
  readonly #ended = new Map<SourceId, Moment>()
  readonly #news: Set<SourceId>
  /** The time until which the last answer of each server is fresh, as the server declared. */
  readonly #freshUntil = new Map<SourceId, Moment>()

  /** `unseen`: folders, which this process has not read yet. */
  constructor(unseen: Iterable<SourceId>, clock: Clock) {
    this.#news = new Set(unseen)
    this.#clock = clock
  }

  /** The start of the running pull of each source. */
  get lookingSince(): ReadonlyMap<SourceId, Date> {
    return this.#began
  }

  /** Calls the listener with what the running pull of the source has fetched, at most four times a second. */
  watch(source: SourceId, listener: (fetched: FetchedAmount) => void): Disposable {
    let calledMs = -Infinity
    const onFetched = (fetched: FetchedAmount): void => {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs - calledMs < WATCH_MS) return
      calledMs = nowMs
      listener(fetched)
    }
    const watching = this.#watching.get(source) ?? new Set()
    this.#watching.set(source, watching.add(onFetched))
    return {
      [Symbol.dispose]: () => {
        watching.delete(onFetched)
        if (watching.size === 0 && this.#watching.get(source) === watching) this.#watching.delete(source)
      },
    }
  }

  /** Adds to what the running pull of the source has fetched. */
  fetched(source: SourceId, { files, bytes }: FetchedAmount): void {
    const before = this.#fetched.get(source) ?? NOTHING_FETCHED
    const fetched = { files: before.files + files, bytes: before.bytes + bytes }
    this.#fetched.set(source, fetched)
    for (const listener of this.#watching.get(source) ?? []) listener(fetched)
  }

  /** Marks a pull of the source as running until disposed. */
  begin(source: SourceId): Disposable {
    const began = this.#clock.now()
    this.#began.set(source, began)
    this.#fetched.delete(source)
    return {
      // A pull that lost its slot may end while the next one runs.
      [Symbol.dispose]: () => void (this.#began.get(source) === began && this.#began.delete(source)),
    }
  }

  end(source: SourceId): void {
    this.#ended.set(source, this.#moment())
  }

  /**
   * The time since the last pull of the source ended. `lastAttempt` is that of an earlier process; infinite without
   * any.
   */
  sinceMs(source: SourceId, lastAttempt: string | undefined): number {
    const ended = this.#ended.get(source)
    // The larger value of both clocks: the wall clock can be set back, and the monotonic clock stops while the machine
    // sleeps.
    if (ended !== undefined)
      return Math.max(this.#clock.monotonicMs() - ended.monotonicMs, this.#clock.now().getTime() - ended.wallMs)
    const sinceMs = lastAttempt === undefined ? -1 : this.#clock.now().getTime() - Date.parse(lastAttempt)
    return sinceMs < 0 ? Number.POSITIVE_INFINITY : sinceMs
  }

  /** Records a change in a folder or at a server, relevant or not. */
  heard(source: SourceId): void {
    this.#news.add(source)
  }

  /** Called when a pull starts to read: it sees all changes recorded before, and previous freshness ends. */
  seen(source: SourceId): void {
    this.#news.delete(source)
    this.#freshUntil.delete(source)
  }

  /** Records how long a server declares its listing fresh. */
  lists(source: SourceId, ttlMs: number): void {
    const { wallMs, monotonicMs } = this.#moment()
    this.#freshUntil.set(source, { wallMs: wallMs + ttlMs, monotonicMs: monotonicMs + ttlMs })
  }

  /** The remaining freshness of the last answer; 0 after a recorded change. */
  freshMs(source: SourceId): number {
    const until = this.#freshUntil.get(source)
    if (until === undefined || this.#news.has(source)) return 0
    const now = this.#moment()
    // The smaller value of both clocks: the monotonic clock stops while the machine sleeps.
    return Math.max(0, Math.min(until.wallMs - now.wallMs, until.monotonicMs - now.monotonicMs))
  }

  /** True if something may have changed in a folder or at a server since its last pull began. */
  hasNews(source: SourceId): boolean {
    return this.#news.has(source)
  }

  #moment(): Moment {
    return { wallMs: this.#clock.now().getTime(), monotonicMs: this.#clock.monotonicMs() }
  }
}

/** The files that a pull has stored, and the bytes of packs that it has received over HTTP. */
export interface FetchedAmount {
  readonly files: number
  readonly bytes: number
}

const NOTHING_FETCHED: FetchedAmount = { files: 0, bytes: 0 }
const WATCH_MS = 250

/** A time on both clocks. */
interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}
