import type { Clock } from '../../../base/async/clock.ts'
import { resultWithin } from '../../../base/async/wait-at-most.ts'
import type { FoundSession } from '../../../serve/mcp/transports/session-store.ts'
import { DatabaseFailure } from '../../../sync/postgres/database-failure.ts'

interface Found {
  /** `undefined`: there is none. */
  readonly session: FoundSession | undefined
}

type Find = (keys: readonly string[]) => Promise<ReadonlyMap<string, FoundSession>>

/**
 * Finds sessions of other processes. One statement runs at a time, and the next one asks for all sessions that were
 * requested meanwhile: requests with unknown ids, however many, are a bounded load on the database. A database that does
 * not answer soon counts as away: nothing is looked up until its statement has ended, or for a second after a failure.
 */
export class SessionLookups {
  readonly #find: Find
  #waiting = new Map<string, PromiseWithResolvers<Found>>()
  #isRunning = false
  /** True if the statement that runs has taken too long. */
  #isSilent = false
  #failedAt: number | undefined
  readonly #clock: Pick<Clock, 'monotonicMs' | 'wait'>

  constructor(find: Find, clock: Pick<Clock, 'monotonicMs' | 'wait'>) {
    this.#find = find
    this.#clock = clock
  }

  /** Rejects with `store-failed`, after half a second at most. */
  async find(key: string): Promise<FoundSession | undefined> {
    if (this.#isAway) throw new DatabaseFailure('Cannot find a session: the database is away')
    const found = await resultWithin(ANSWER_MS, this.#wait(key), this.#clock)
    if (found !== undefined) return found.session
    this.#isSilent = this.#isRunning
    throw new DatabaseFailure('Cannot find a session: the database does not answer')
  }

  /** Forgets the last failure, because the database has answered since. */
  retry(): void {
    this.#failedAt = undefined
  }

  get #isAway(): boolean {
    if (this.#isSilent) return true
    return this.#failedAt !== undefined && this.#clock.monotonicMs() - this.#failedAt < RETRY_MS
  }

  async #wait(key: string): Promise<Found> {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) return waiting.promise
    if (this.#waiting.size >= MOST_WAITING)
      throw new DatabaseFailure('Cannot find a session: too many are being looked up')
    const found = Promise.withResolvers<Found>()
    this.#waiting.set(key, found)
    if (!this.#isRunning) void this.#run()
    return found.promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // Requests of one turn of the event loop share a statement.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const asked = this.#waiting
      this.#waiting = new Map()
      try {
        const found = await this.#find([...asked.keys()])
        this.#failedAt = undefined
        for (const [key, { resolve }] of asked) resolve({ session: found.get(key) })
      } catch (error) {
        this.#failedAt = this.#clock.monotonicMs()
        for (const { reject } of asked.values()) reject(error)
      }
      this.#isSilent = false
    }
    this.#isRunning = false
  }
}

/** The sessions of one statement. */
const MOST_WAITING = 1_000

/** A request waits so long for the database. */
const ANSWER_MS = 500

/** After a failure nothing is looked up for so long. */
const RETRY_MS = 1_000
