import type { Clock } from '../../../base/async/clock.ts'
import { callAfter, resultWithin } from '../../../base/async/wait-at-most.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { HostSemaphore, type HostPermit, type PlaceLimits } from '../../runtime/host-semaphore.ts'

export interface KeyedQueueLimits {
  /** The slots in which runs begin. */
  readonly looking: PlaceLimits
  /** A run exchanges its slot for one of these when it has something to fetch. */
  readonly fetching: PlaceLimits
  /** After this time in one slot, a run loses the slot and its place in the queue, even if it ignores its signal. */
  readonly timeoutMs: number
  /** The time that `stop` waits for aborted runs to end. */
  readonly graceMs: number
}

/** The slot of a run. */
export interface Slot {
  /** Releases the slot and resolves with one for fetching; the wait does not count toward the timeout. */
  readonly fetch: () => Promise<void>
  /** Releases the slot, whose timeout goes on: the rest of the run needs no host. */
  readonly release: () => void
}

/**
 * The work of a run. After its signal is aborted it must publish nothing: the next run of the same key may have
 * started.
 */
export type Run<Result> = (signal: AbortSignal, slot: Slot) => Promise<Result>

/** A queue per key: one run at a time and at most one waiting, however many are requested. */
export class KeyedQueue<Result> implements AsyncDisposable {
  readonly #limits: KeyedQueueLimits
  readonly #clock: Clock
  readonly #looking: HostSemaphore
  readonly #fetching: HostSemaphore
  readonly #queues = new Map<string, Lane<Result>>()
  #closed = false

  constructor(limits: KeyedQueueLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#looking = new HostSemaphore(limits.looking, clock)
    this.#fetching = new HostSemaphore(limits.fetching, clock)
  }

  /**
   * Runs as soon as there is a slot, after the current run of the key. A request joins a waiting run and gets its
   * promise. Rejects with an AbortError if stopped, and with a `SyncError` after a timeout.
   */
  request(key: string, host: string, run: Run<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(stopError(key))
    const lane = this.#laneOf(key)
    // Joining the running one could miss the commit this request is about.
    lane.waiting ??= this.#enqueue(lane, { key, host, run })
    return lane.waiting.result
  }

  /**
   * Aborts the running and the waiting run of the key. Resolves when they have ended, or when the grace period is over.
   */
  async stop(key: string): Promise<void> {
    const lane = this.#queues.get(key)
    if (lane === undefined) return
    const controllers = [lane.waiting?.controller, lane.running]
    // A later request must not join a run that is being stopped.
    lane.waiting = undefined
    for (const controller of controllers) controller?.abort(stopError(key))
    await this.#endOf(lane.unended)
  }

  /** Stops all keys permanently. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#queues.keys()].map((key) => this.stop(key)))
  }

  #laneOf(key: string): Lane<Result> {
    const known = this.#queues.get(key)
    if (known !== undefined) return known
    const lane = { waiting: undefined, running: undefined, last: Promise.resolve(), unended: new Set<Promise<void>>() }
    this.#queues.set(key, lane)
    return lane
  }

  #enqueue(lane: Lane<Result>, job: Job<Result>): Waiting<Result> {
    const controller = new AbortController()
    const result = this.#after(lane.last, lane, job, controller)
    lane.last = result.then(nothing, nothing)
    return { controller, result }
  }

  async #after(
    last: Promise<void>,
    lane: Lane<Result>,
    job: Job<Result>,
    controller: AbortController,
  ): Promise<Result> {
    await last
    const { key, host } = job
    const stay = new Stay(host, controller, () => this.#alarm(key, controller))
    try {
      await stay.moveTo(this.#looking)
      // From here on a request gets a later run.
      lane.waiting = undefined
      lane.running = controller
      const slot = { fetch: () => stay.moveTo(this.#fetching), release: () => stay.release() }
      const run = job.run(controller.signal, slot)
      return await unlessAborted(track(run, lane.unended), controller.signal)
    } catch (error) {
      throw isTimeOver(error) ? tooLong(key, this.#limits.timeoutMs, error) : error
    } finally {
      stay.end()
    }
  }

  /** Aborts a run after its timeout, unless the returned value is disposed before. */
  #alarm(key: string, run: AbortController): Disposable {
    return callAfter(this.#limits.timeoutMs, () => run.abort(timeOver(key)), this.#clock)
  }

  /** Resolves when all of these have ended, or when the grace period is over. */
  async #endOf(unended: Iterable<Promise<void>>): Promise<void> {
    await resultWithin(this.#limits.graceMs, Promise.all(unended), this.#clock)
  }
}

/** The position of a run: one slot at a time, each with a timeout. */
class Stay {
  readonly #host: string
  readonly #run: AbortController
  readonly #alarm: () => Disposable
  #at: HostSemaphore | undefined
  #place: HostPermit | undefined
  #time: Disposable | undefined

  constructor(host: string, run: AbortController, alarm: () => Disposable) {
    this.#host = host
    this.#run = run
    this.#alarm = alarm
  }

  /** Releases its slot and resolves in one of these. */
  async moveTo(places: HostSemaphore): Promise<void> {
    if (this.#at === places) return
    this.end()
    this.#at = places
    this.#place = await places.take(this.#host, this.#run.signal)
    // A run that was stopped meanwhile must not continue; the slot is released by itself.
    this.#run.signal.throwIfAborted()
    this.#time = this.#alarm()
  }

  release(): void {
    this.#place?.leave()
  }

  end(): void {
    this.release()
    this.#time?.[Symbol.dispose]()
  }
}

interface Lane<Result> {
  /** A requested run that has not begun: it waits for the current one, or for a slot. */
  waiting: Waiting<Result> | undefined
  /** Aborts the run that began last. */
  running: AbortController | undefined
  /** Resolves when the last requested run is over. */
  last: Promise<void>
  /** The runs that have not really ended, including those that lost their slot. */
  readonly unended: Set<Promise<void>>
}

interface Waiting<Result> {
  readonly controller: AbortController
  readonly result: Promise<Result>
}

interface Job<Result> {
  readonly key: string
  readonly host: string
  readonly run: Run<Result>
}

/** Settles like the run, or rejects when the signal aborts, even if the run ignores it. */
async function unlessAborted<Result>(run: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([run, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function track<Result>(run: Promise<Result>, unended: Set<Promise<void>>): Promise<Result> {
  const end = run.then(nothing, nothing).finally(() => unended.delete(end))
  unended.add(end)
  return run
}

function nothing(): void {}

function stopError(key: string): DOMException {
  return new DOMException(`The pull of "${key}" was stopped`, 'AbortError')
}

function timeOver(key: string): DOMException {
  return new DOMException(`The time of the pull of "${key}" is over`, 'TimeoutError')
}

function isTimeOver(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

function tooLong(key: string, timeoutMs: number, cause: unknown): SyncError {
  const message = `Cannot pull "${key}": it was not done after ${timeoutMs / 1000} s`
  return new SyncError('source-unreachable', message, { cause, place: 'limits.fetch.total_timeout' })
}
