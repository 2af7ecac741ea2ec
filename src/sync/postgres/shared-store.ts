import { randomUUID } from 'node:crypto'
import { Leadership } from './leadership.ts'
import { PostgresDatabase } from './postgres-database.ts'
import type { DatabaseOptions } from './postgres-database.ts'
import { PostgresObjects } from './postgres-objects.ts'
import { SharedDocuments } from './shared-documents.ts'
import { SharedLogs } from './shared-logs.ts'

/** The times of a shared store, in milliseconds. */
export interface SharedTimes {
  /** The lead ends so long after its last renewal. */
  readonly leaseMs: number
}

/** The store that the processes of one hub share, a PostgreSQL database. Each of them also has a store of its own. */
export class SharedStore implements AsyncDisposable {
  /** The id of this process among those of the hub. Another start has another one. */
  readonly id = randomUUID()
  readonly database: PostgresDatabase
  /** The same database, for short statements that must soon succeed or fail. */
  readonly pulse: PostgresDatabase
  readonly documents: SharedDocuments
  readonly logs: SharedLogs
  readonly leadership: Leadership
  #objects: Promise<PostgresObjects> | undefined
  /** The last failure to open, on the monotonic clock. */
  #failed: { readonly error: unknown; readonly untilMs: number } | undefined

  private constructor(database: PostgresDatabase, pulse: PostgresDatabase, { leaseMs }: SharedTimes) {
    this.database = database
    this.pulse = pulse
    this.documents = new SharedDocuments(database)
    this.logs = new SharedLogs(database)
    this.leadership = new Leadership(pulse, this.id, leaseMs)
  }

  /** Connects to nothing yet: the database may be away at the start. */
  static at(options: DatabaseOptions, times: SharedTimes = TIMES): SharedStore {
    const pulse = PostgresDatabase.at({ ...options, times: PULSE_TIMES, connections: 2 })
    return new SharedStore(PostgresDatabase.at(options), pulse, times)
  }

  /**
   * Connects, brings the schema to this version, and returns the objects. Throws `store-failed` if that fails, and for a
   * second after that: what begins meanwhile does not wait for the same failure.
   */
  async open(): Promise<PostgresObjects> {
    if (this.#failed !== undefined && performance.now() < this.#failed.untilMs) throw this.#failed.error
    this.#objects ??= this.#open()
    try {
      return await this.#objects
    } catch (error) {
      this.#objects = undefined
      this.#failed = { error, untilMs: performance.now() + PAUSE_MS }
      throw error
    }
  }

  async #open(): Promise<PostgresObjects> {
    // A database that does not answer shows it here, in less time than a migration may take.
    await this.pulse.query('reach the database', 'SELECT 1')
    await this.database.migrate()
    return PostgresObjects.open(this.database, () => this.leadership.epoch)
  }

  /** Ends all connections at once. Work that waits for the database, and all later work, fails with `store-failed`. */
  async cutOff(): Promise<void> {
    await Promise.all([this.pulse.cutOff(), this.database.cutOff()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pulse[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
  }
}

const TIMES: SharedTimes = { leaseMs: 5_000 }
/** A renewal of the lead that fails leaves time for another attempt. */
const PULSE_TIMES = { connectMs: 2_000, statementMs: 1_500 }
const PAUSE_MS = 1_000
