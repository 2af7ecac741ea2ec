import PQueue from 'p-queue'

export interface PlaceLimits {
  /** Taken at once. */
  readonly concurrency: number
  /** Taken at once by what reaches the same host. */
  readonly perHost: number
}

/** So many places, of which one host can have so many: who finds none waits in line. */
export class Places {
  readonly #perHost: number
  readonly #all: PQueue
  readonly #hosts = new Map<string, PQueue>()

  constructor({ concurrency, perHost }: PlaceLimits) {
    this.#perHost = perHost
    this.#all = new PQueue({ concurrency })
  }

  /** Resolves with a place, or rejects with the reason of the abort. One that was taken is kept until it is left, or the signal is aborted. */
  async take(host: string, signal: AbortSignal): Promise<Place> {
    const taken = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const stay = (): Promise<void> => {
      taken.resolve()
      return left.promise
    }
    // The host's place comes first: who waits for a busy host must not hold a place that others could use.
    this.#at(host)
      .add(() => this.#all.add(stay, { signal }), { signal })
      .catch(taken.reject)
    await taken.promise
    return { leave: left.resolve }
  }

  #at(host: string): PQueue {
    const places = this.#hosts.get(host) ?? new PQueue({ concurrency: this.#perHost })
    this.#hosts.set(host, places)
    return places
  }
}

export interface Place {
  leave(): void
}
