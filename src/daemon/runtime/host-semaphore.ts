import PQueue from 'p-queue'
import { CANCELED } from '../../base/async/abort-error.ts'
import type { Clock } from '../../base/async/clock.ts'

export interface PlaceLimits {
  /** The number of slots that can be taken at once. */
  readonly concurrency: number
  /** The number of slots that one host can take at once. */
  readonly perHost: number
  /** Extra slots for slow work; `undefined` if slow work keeps its slot. */
  readonly slow?: SlowPlaces
}

interface SlowPlaces {
  readonly concurrency: number
  /** The time after which a stay counts as slow. */
  readonly afterMs: number
}

/**
 * A semaphore with a limit in total and a limit per host; callers without a free slot wait in a queue. A slow stay
 * moves to one of the slow slots and frees its own. The next stays of that host start in a slow slot, until one of them
 * is quick.
 */
export class HostSemaphore {
  readonly #limits: PlaceLimits
  readonly #clock: Clock
  readonly #all: PQueue
  readonly #slow: PQueue
  readonly #hosts = new Map<string, PQueue>()
  readonly #slowHosts = new Set<string>()

  constructor(limits: PlaceLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#all = new PQueue({ concurrency: limits.concurrency })
    this.#slow = new PQueue({ concurrency: limits.slow?.concurrency ?? 1 })
  }

  /**
   * Resolves with a slot, or rejects with the reason of the abort. The slot stays taken until `leave` is called or the
   * signal is aborted.
   */
  async take(host: string, signal: AbortSignal): Promise<HostPermit> {
    const taken = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const ended = new AbortController()
    const within = AbortSignal.any([signal, ended.signal])
    const stay = async (): Promise<void> => {
      taken.resolve()
      await Promise.race([left.promise, this.#givenBack(host, left.promise, within)])
    }
    // The host's slot comes first: a caller that waits for a busy host must not hold a slot that others could use.
    this.#at(host)
      .add(
        async () => {
          await (this.#slowHosts.has(host) ? this.#slow : this.#all).add(stay, { signal })
          await left.promise
        },
        { signal },
      )
      .catch(taken.reject)
    await taken.promise
    return {
      leave: () => {
        ended.abort(CANCELED)
        left.resolve()
      },
    }
  }

  /** Resolves when the stay has moved to a slow slot. */
  async #givenBack(host: string, left: Promise<void>, within: AbortSignal): Promise<void> {
    const { slow } = this.#limits
    if (slow === undefined) return left
    const wasSlow = this.#slowHosts.has(host)
    const isSlow = await this.#clock.wait(slow.afterMs, within).then(
      () => true,
      () => false,
    )
    if (isSlow) this.#slowHosts.add(host)
    else this.#slowHosts.delete(host)
    if (!isSlow || wasSlow) return left
    const goesOn = Promise.withResolvers<void>()
    const go = (): Promise<void> => {
      goesOn.resolve()
      return left
    }
    // It rejects if the stay ends first: then the slot is free as well.
    this.#slow.add(go, { signal: within }).catch(goesOn.resolve)
    return goesOn.promise
  }

  #at(host: string): PQueue {
    const places = this.#hosts.get(host) ?? new PQueue({ concurrency: this.#limits.perHost })
    this.#hosts.set(host, places)
    return places
  }
}

export interface HostPermit {
  leave(): void
}
