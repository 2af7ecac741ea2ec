import { lookup as lookUpInSystem } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock } from '../../base/async/clock.ts'
import { resultWithin } from '../../base/async/wait-at-most.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Address } from '../../sync/upstream/http/host-access.ts'
import { connectionFailure } from '../../sync/upstream/http/http-failure.ts'
import type { FetchLimits } from '../../sync/upstream/upstream.ts'
import { THREADS } from '../config/process-environment.ts'
import { HostSemaphore } from '../runtime/host-semaphore.ts'

/** Asks the system's resolver for all addresses of a name; it cannot be aborted. */
export type LookUp = (name: string) => Promise<readonly Address[]>

/**
 * Resolves host names through the system's resolver: unlike `dns.resolve`, it uses the hosts file, search domains and
 * name services. Each name has at most one lookup at a time. A slow lookup gives its slot to others after a moment.
 */
export class HostNames {
  readonly #lookUp: LookUp
  readonly #clock: Clock
  #waitMs = 0
  readonly #places: HostSemaphore
  readonly #running = new Map<string, Promise<readonly Address[]>>()
  /** The last answer for each name. */
  readonly #answers = new Map<string, Answer>()

  constructor(clock: Clock, lookUp: LookUp = systemLookUp) {
    this.#lookUp = lookUp
    this.#clock = clock
    this.#places = new HostSemaphore(LOOKUP_PLACES, clock)
  }

  /** From now on, a name without an answer within `waitMs` fails with `dns-failed`. */
  configure({ connectMs }: Pick<FetchLimits, 'connectMs'>): void {
    this.#waitMs = connectMs
  }

  /** Returns the last answer for a name if the resolver gives none now. */
  async addressesOf(host: string, signal: AbortSignal): Promise<readonly Address[]> {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    const known = this.#answers.get(host)
    if (known !== undefined && this.#clock.monotonicMs() - known.atMs < FRESH_MS) return known.addresses
    const ms = known === undefined ? this.#waitMs : KNOWN_WAIT_MS
    const answer = await resultWithin(ms, this.#askOnce(host), this.#clock, signal)
    return answer ?? known?.addresses ?? silent(host, this.#waitMs)
  }

  #askOnce(host: string): Promise<readonly Address[]> {
    const running = this.#running.get(host) ?? this.#ask(host).finally(() => this.#running.delete(host))
    this.#running.set(host, running)
    // All callers may have given up before the lookup ends.
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
      // Not before the resolver returns: until then a thread is occupied.
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

/** A pull connects to a host a few times in a row: one lookup is enough for it. */
const FRESH_MS = 5_000

/** All slots together use half of the threads: Node keeps the other half for the disk. */
const LOOKUP_PLACES = {
  concurrency: THREADS / 8,
  perHost: 1,
  slow: { concurrency: (THREADS * 3) / 8, afterMs: 500 },
}
/** A working resolver answers far sooner. */
const KNOWN_WAIT_MS = 1_000
const MOST_ANSWERS = 10_000
/** A lookup cannot be stopped: it ends when the resolver returns. */
const NEVER = new AbortController().signal

async function systemLookUp(name: string): Promise<readonly Address[]> {
  return lookUpInSystem(name, { all: true })
}

function silent(host: string, ms: number): never {
  throw new SyncError('dns-failed', `Cannot look up "${host}": the resolver gives no answer within ${ms} ms`)
}
