import PQueue from 'p-queue'
import { SyncError } from '../sync/model/sync-error.ts'
import type { Clock } from './clock.ts'

export interface LaneLimits {
  /** Runs at once over all keys. */
  readonly concurrency: number
  /** Runs at once that reach the same host. */
  readonly perHost: number
  /** After which a run loses its place and its lane, whether it heeds its signal or not. */
  readonly timeoutMs: number
  /** How long `stop` waits for runs that were aborted to end. */
  readonly graceMs: number
}

/** What does the work. Once its signal is aborted it must publish nothing: the next run of the same key may be under way. */
export type Run<Result> = (signal: AbortSignal) => Promise<Result>

/** Who runs when: for each key one at a time and at most one more in waiting, whatever number is requested. */
export class Lanes<Result> implements AsyncDisposable {
  readonly #limits: LaneLimits
  readonly #clock: Clock
  readonly #places: PQueue
  readonly #hosts = new Map<string, PQueue>()
  readonly #lanes = new Map<string, Lane<Result>>()
  #closed = false

  constructor(limits: LaneLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#places = new PQueue({ concurrency: limits.concurrency })
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
    const { signal } = controller
    const start = (): Promise<Result> => {
      lane.waiting = undefined
      lane.running = controller
      return this.#inTime(watched(job.run(signal), lane.unended), job.key, controller)
    }
    // The host's place comes first: who waits for a busy host must not hold a place that others could use. Both are given
    // back as soon as the signal is aborted, whether the run heeds it or not.
    try {
      return await this.#placesAt(job.host).add(() => this.#places.add(start, { signal }), { signal })
    } catch (error) {
      throw isTimeOver(error) ? tooLong(job.key, this.#limits.timeoutMs, error) : error
    }
  }

  /** The run, whose signal is aborted when its time is over. */
  async #inTime(run: Promise<Result>, key: string, controller: AbortController): Promise<Result> {
    const { timeoutMs } = this.#limits
    const ended = new AbortController()
    // It rejects only when the run has ended first.
    void this.#clock.wait(timeoutMs, ended.signal).then(() => controller.abort(timeOver(key)), nothing)
    try {
      return await run
    } finally {
      ended.abort()
    }
  }

  /** Resolves when all of these have ended, or have had their time to. */
  async #endOf(unended: Iterable<Promise<void>>): Promise<void> {
    const grace = new AbortController()
    const over = this.#clock.wait(this.#limits.graceMs, grace.signal).catch(nothing)
    await Promise.race([Promise.all(unended), over])
    grace.abort()
  }

  #placesAt(host: string): PQueue {
    const places = this.#hosts.get(host) ?? new PQueue({ concurrency: this.#limits.perHost })
    this.#hosts.set(host, places)
    return places
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
