import { lookup as lookUpInSystem } from 'node:dns/promises'
import { isIP } from 'node:net'
import { SyncError } from '../../sync/model/sync-error.ts'
import { connectionFailure } from '../../sync/upstream/http/http-failure.ts'
import type { Address } from '../../sync/upstream/http/host-access.ts'
import type { Clock } from '../../base/clock.ts'
import { THREADS } from '../config/process-environment.ts'
import { Places } from '../base/host-semaphore.ts'

/** Asks the system's resolver for all addresses of a name; it heeds no signal. */
export type LookUp = (name: string) => Promise<readonly Address[]>

/**
 * The addresses of hosts, as the system knows them: its hosts file, search domains and name services hold, as they would not over
 * `dns.resolve`. Each name is looked up once at a time. A name without an answer leaves its place to others after a moment.
 */
export class HostNames {
  readonly #lookUp: LookUp
  readonly #clock: Clock
  readonly #waitMs: number
  readonly #places: Places
  readonly #running = new Map<string, Promise<readonly Address[]>>()
  /** The last answer for each name. */
  readonly #answers = new Map<string, Answer>()

  /** A name without an answer within `waitMs` is `dns-failed`. */
  constructor(clock: Clock, waitMs: number, lookUp: LookUp = systemLookUp) {
    this.#lookUp = lookUp
    this.#clock = clock
    this.#waitMs = waitMs
    this.#places = new Places(LOOKUP_PLACES, clock)
  }

  /** Gives the last answer for a name where the resolver gives none now. */
  async addressesOf(host: string, signal: AbortSignal): Promise<readonly Address[]> {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    const known = this.#answers.get(host)
    if (known !== undefined && this.#clock.monotonicMs() - known.atMs < FRESH_MS) return known.addresses
    const over = new AbortController()
    const silence = this.#clock.wait(
      known === undefined ? this.#waitMs : KNOWN_WAIT_MS,
      AbortSignal.any([signal, over.signal]),
    )
    try {
      return await Promise.race([this.#asked(host), silence.then(() => known?.addresses ?? silent(host, this.#waitMs))])
    } finally {
      over.abort()
      silence.catch(() => {})
    }
  }

  #asked(host: string): Promise<readonly Address[]> {
    const running = this.#running.get(host) ?? this.#ask(host).finally(() => this.#running.delete(host))
    this.#running.set(host, running)
    // All that wait for it may have given up before it ends.
    running.catch(() => {})
    return running
  }

  async #ask(host: string): Promise<readonly Address[]> {
    const place = await this.#places.take(host, NEVER)
    try {
      const addresses = await this.#lookUp(host)
      this.#remember(host, addresses)
      return addresses
    } catch (cause) {
      throw connectionFailure(cause, `Cannot look up "${host}"`)
    } finally {
      // Not before the resolver lets go: until then a thread is taken.
      place.leave()
    }
  }

  #remember(host: string, addresses: readonly Address[]): void {
    if (this.#answers.size >= MOST_ANSWERS) this.#answers.clear()
    this.#answers.set(host, { addresses, atMs: this.#clock.monotonicMs() })
  }
}

interface Answer {
  readonly addresses: readonly Address[]
  readonly atMs: number
}

/** A pull asks a host a few times in a row: one look-up is enough for it. */
const FRESH_MS = 5_000

/** As many as can be looked up at once: Node keeps the other half of the threads for the disk. */
const LOOKUP_PLACES = {
  concurrency: THREADS / 8,
  perHost: 1,
  slow: { concurrency: (THREADS * 3) / 8, afterMs: 500 },
}
/** A resolver that works answers far sooner. */
const KNOWN_WAIT_MS = 1_000
const MOST_ANSWERS = 10_000
/** A look-up ends when the resolver lets go of it, and cannot be stopped. */
const NEVER = new AbortController().signal

async function systemLookUp(name: string): Promise<readonly Address[]> {
  return lookUpInSystem(name, { all: true })
}

function silent(host: string, ms: number): never {
  throw new SyncError('dns-failed', `Cannot look up "${host}": the resolver gives no answer within ${ms} ms`)
}
