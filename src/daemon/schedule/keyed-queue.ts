import { SyncError } from '../../sync/model/sync-error.ts'
import type { Clock } from '../../base/clock.ts'
import { Places, type Place, type PlaceLimits } from '../base/host-semaphore.ts'

export interface LaneLimits {
  /** A run begins in one of these places. */
  readonly looking: PlaceLimits
  /** It takes one of these in exchange once it has something to fetch. */
  readonly fetching: PlaceLimits
  /** After so long in one place a run loses it, and its lane, whether it heeds its signal or not. */
  readonly timeoutMs: number
  /** How long `stop` waits for runs that were aborted to end. */
  readonly graceMs: number
}

/**
 * What does the work. Once its signal is aborted it must publish nothing: the next run of the same key may be under way.
 * `fetching` gives its place back and resolves with one among those that fetch; the wait does not count as its time.
 */
export type Run<Result> = (signal: AbortSignal, fetching: () => Promise<void>) => Promise<Result>

/** Who runs when: for each key one at a time and at most one more in waiting, whatever number is requested. */
export class Lanes<Result> implements AsyncDisposable {
  readonly #limits: LaneLimits
  readonly #clock: Clock
  readonly #looking: Places
  readonly #fetching: Places
  readonly #lanes = new Map<string, Lane<Result>>()
  #closed = false

  constructor(limits: LaneLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#looking = new Places(limits.looking, clock)
    this.#fetching = new Places(limits.fetching, clock)
  }

  /**
   * Runs as soon as there is a place, after the one that runs for the key. Who asks while one is waiting gets the promise of
   * that one. Rejects with an AbortError when stopped, and with a `SyncError` when it took too long.
   */
  request(key: string, host: string, run: Run<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(stopped(key))
    const lane = this.#laneOf(key)
    // Joining the running one could miss the commit this request is about.
    lane.waiting ??= this.#enqueue(lane, { key, host, run })
    return lane.waiting.result
  }

  /** Aborts what runs for the key and what waits; resolves when that has ended, or has had its time to. */
  async stop(key: string): Promise<void> {
    const lane = this.#lanes.get(key)
    if (lane === undefined) return
    const controllers = [lane.waiting?.controller, lane.running]
    // Who asks from now on must not join what is being stopped.
    lane.waiting = undefined
    for (const controller of controllers) controller?.abort(stopped(key))
    await this.#endOf(lane.unended)
  }

  /** Stops all keys, for good. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#lanes.keys()].map((key) => this.stop(key)))
  }

  #laneOf(key: string): Lane<Result> {
    const known = this.#lanes.get(key)
    if (known !== undefined) return known
    const lane = { waiting: undefined, running: undefined, last: Promise.resolve(), unended: new Set<Promise<void>>() }
    this.#lanes.set(key, lane)
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
      // From here on who asks is told of a later run.
      lane.waiting = undefined
      lane.running = controller
      const run = job.run(controller.signal, () => stay.moveTo(this.#fetching))
      return await unlessAborted(watched(run, lane.unended), controller.signal)
    } catch (error) {
      throw isTimeOver(error) ? tooLong(key, this.#limits.timeoutMs, error) : error
    } finally {
      stay.end()
    }
  }

  /** Aborts a run when its time is over. What is returned stops that. */
  #alarm(key: string, run: AbortController): AbortController {
    const stop = new AbortController()
    // It rejects only when it was stopped.
    void this.#clock.wait(this.#limits.timeoutMs, stop.signal).then(() => run.abort(timeOver(key)), nothing)
    return stop
  }

  /** Resolves when all of these have ended, or have had their time to. */
  async #endOf(unended: Iterable<Promise<void>>): Promise<void> {
    const grace = new AbortController()
    const over = this.#clock.wait(this.#limits.graceMs, grace.signal).catch(nothing)
    await Promise.race([Promise.all(unended), over])
    grace.abort()
  }
}

/** Where a run is: in one place at a time, for so long. */
class Stay {
  readonly #host: string
  readonly #run: AbortController
  readonly #alarm: () => AbortController
  #at: Places | undefined
  #place: Place | undefined
  #time: AbortController | undefined

  constructor(host: string, run: AbortController, alarm: () => AbortController) {
    this.#host = host
    this.#run = run
    this.#alarm = alarm
  }

  /** Leaves its place and resolves in one of these. */
  async moveTo(places: Places): Promise<void> {
    if (this.#at === places) return
    this.end()
    this.#at = places
    this.#place = await places.take(this.#host, this.#run.signal)
    // One that was stopped in between has no more say in its lane; the place is free again by itself.
    this.#run.signal.throwIfAborted()
    this.#time = this.#alarm()
  }

  end(): void {
    this.#place?.leave()
    this.#time?.abort()
  }
}

interface Lane<Result> {
  /** Requested and not begun: it waits for the one that runs, or for a place. */
  waiting: Waiting<Result> | undefined
  /** Stops the one that began last. */
  running: AbortController | undefined
  /** Resolves when what was requested last is over. */
  last: Promise<void>
  /** The runs that have not really ended, those included that lost their place. */
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

/** The run, or the reason of its abort, whether it heeds that or not. */
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

function watched<Result>(run: Promise<Result>, unended: Set<Promise<void>>): Promise<Result> {
  const end = run.then(nothing, nothing).finally(() => unended.delete(end))
  unended.add(end)
  return run
}

function nothing(): void {}

function stopped(key: string): DOMException {
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
  return new SyncError('source-unreachable', message, { cause })
}
