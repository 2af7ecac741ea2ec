import type { AuditEvent } from '../../../serve/audit.ts'
import { networkOf } from '../../../serve/http/server/trusted-proxies.ts'

/** An event that stands for more events of the same client. */
export interface CountedEvent extends AuditEvent {
  /** The number of times that the same request was answered since its last line. */
  readonly repeated?: number
  /** The number of events of the client that have no line of their own, without this one. */
  readonly others?: number
}

/**
 * Limits the lines that each client may add to the record: a burst first, then one a minute. It counts the same event
 * within a minute, and events beyond the rate; a line with the number follows.
 */
export class AuditRate {
  readonly #clients = new Map<string, Client>()

  /** True if the event gets a line of its own; else it is counted. `nowMs` is monotonic. */
  admits(event: AuditEvent, nowMs: number): boolean {
    return this.#clientOf(event, nowMs).admits(event, nowMs)
  }

  /** Takes the counted events that are due. */
  takeDue(nowMs: number): readonly CountedEvent[] {
    const due = [...this.#clients.values()].flatMap((client) => client.takeDue(nowMs))
    this.#forgetIdle(nowMs)
    return due
  }

  /** Takes all counted events, due or not. */
  takeAll(): readonly CountedEvent[] {
    const all = [...this.#clients.values()].flatMap((client) => client.takeAll())
    this.#clients.clear()
    return all
  }

  /** True while a count may still have to be written. */
  get isCounting(): boolean {
    return [...this.#clients.values()].some((client) => client.isCounting)
  }

  #clientOf({ principal, address = '' }: AuditEvent, nowMs: number): Client {
    const named = principal === undefined ? `at ${networkOf(address)}` : `by ${principal}`
    if (!this.#clients.has(named) && this.#clients.size >= MOST_CLIENTS) this.#forgetIdle(nowMs)
    // Beyond that many clients at a time, all further clients share one allowance.
    const name = this.#clients.has(named) || this.#clients.size < MOST_CLIENTS ? named : ''
    const client = this.#clients.get(name) ?? new Client(nowMs)
    this.#clients.set(name, client)
    return client
  }

  #forgetIdle(nowMs: number): void {
    for (const [name, client] of this.#clients) if (client.isIdleAt(nowMs)) this.#clients.delete(name)
  }
}

class Client {
  /** By event key; each event has had its line. */
  readonly #seen = new Map<string, Counted>()
  #beyond: Counted | undefined
  #lines = LINES_AT_ONCE
  #refilledMs: number

  constructor(nowMs: number) {
    this.#refilledMs = nowMs
  }

  admits(event: AuditEvent, nowMs: number): boolean {
    const key = keyOf(event)
    const seen = this.#seen.get(key)
    if (seen !== undefined) {
      seen.count += 1
      seen.last = event
      return false
    }
    if (this.#spend(nowMs)) {
      this.#seen.set(key, { sinceMs: nowMs, count: 0, last: event })
      return true
    }
    this.#beyond ??= { sinceMs: nowMs, count: 0, last: event }
    this.#beyond.count += 1
    this.#beyond.last = event
    return false
  }

  takeDue(nowMs: number): readonly CountedEvent[] {
    this.#refill(nowMs)
    const due: CountedEvent[] = []
    if (isDue(this.#beyond, nowMs) && this.#spend(nowMs)) due.push(...this.#takeBeyond())
    for (const [key, seen] of this.#seen) {
      if (!isDue(seen, nowMs) || (seen.count > 0 && !this.#spend(nowMs))) continue
      this.#seen.delete(key)
      due.push(...repeatedIn(seen))
    }
    return due
  }

  takeAll(): readonly CountedEvent[] {
    return [...[...this.#seen.values()].flatMap(repeatedIn), ...this.#takeBeyond()]
  }

  get isCounting(): boolean {
    return this.#seen.size > 0 || this.#beyond !== undefined
  }

  /** True if the client has no counts and its full burst again, like a new one. */
  isIdleAt(nowMs: number): boolean {
    this.#refill(nowMs)
    return !this.isCounting && this.#lines >= LINES_AT_ONCE
  }

  #takeBeyond(): readonly CountedEvent[] {
    if (this.#beyond === undefined) return []
    const { last, count } = this.#beyond
    this.#beyond = undefined
    return [{ ...last, others: count - 1 }]
  }

  #spend(nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#lines < 1) return false
    this.#lines -= 1
    return true
  }

  #refill(nowMs: number): void {
    this.#lines = Math.min(LINES_AT_ONCE, this.#lines + (nowMs - this.#refilledMs) / MINUTE_MS)
    this.#refilledMs = nowMs
  }
}

interface Counted {
  readonly sinceMs: number
  count: number
  last: AuditEvent
}

function isDue(counted: Counted | undefined, nowMs: number): counted is Counted {
  return counted !== undefined && nowMs - counted.sinceMs >= MINUTE_MS
}

function repeatedIn({ last, count }: Counted): readonly CountedEvent[] {
  return count === 0 ? [] : [{ ...last, repeated: count }]
}

/** Everything except the trace and the generation. */
function keyOf({ asked, of, principal, address, client, allowed, why }: AuditEvent): string {
  return JSON.stringify([asked, of, principal, address, client, allowed, why])
}

const MINUTE_MS = 60_000

const LINES_AT_ONCE = 30

/** Each client holds at most `LINES_AT_ONCE` keys, of some two thousand characters. */
const MOST_CLIENTS = 256
