import PQueue from 'p-queue'
import type { Clock } from '../../base/clock.ts'

export interface PlaceLimits {
  /** Taken at once. */
  readonly concurrency: number
  /** Taken at once by what reaches the same host. */
  readonly perHost: number
  /** Places besides, for what takes longer than others; undefined where nothing gives its place back. */
  readonly slow?: SlowPlaces
}

interface SlowPlaces {
  readonly concurrency: number
  /** How long a stay may take before it is slow. */
  readonly afterMs: number
}

/**
 * So many places, of which one host can have so many: who finds none waits in line. A stay that is slow goes on in one of the
 * places for those, and leaves its own to others; the next stays at its host begin there, until one was quick.
 */
export class Places {
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

  /** Resolves with a place, or rejects with the reason of the abort. One that was taken is kept until it is left, or the signal is aborted. */
  async take(host: string, signal: AbortSignal): Promise<Place> {
    const taken = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const ended = new AbortController()
    const within = AbortSignal.any([signal, ended.signal])
    const stay = async (): Promise<void> => {
      taken.resolve()
      await Promise.race([left.promise, this.#givenBack(host, left.promise, within)])
    }
    // The host's place comes first: who waits for a busy host must not hold a place that others could use.
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
        ended.abort()
        left.resolve()
      },
    }
  }

  /** Resolves once the stay goes on in a place for slow ones. */
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
    // It rejects when the stay ends first: then the place is free as well.
    this.#slow.add(go, { signal: within }).catch(goesOn.resolve)
    return goesOn.promise
  }

  #at(host: string): PQueue {
    const places = this.#hosts.get(host) ?? new PQueue({ concurrency: this.#limits.perHost })
    this.#hosts.set(host, places)
    return places
  }
}

export interface Place {
  leave(): void
}
