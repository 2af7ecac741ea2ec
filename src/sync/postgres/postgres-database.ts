import { setTimeout } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import type { ClientConfig, PoolClient, PoolConfig, QueryResultRow } from 'pg'
import { SyncError } from '../model/sync-error.ts'
import { DatabaseFailure } from './database-failure.ts'
import { CHANNEL } from './notify.ts'
import { findSchema, grantToRole, migrateDatabase } from './schema-version.ts'
import type { FoundSchema } from './schema-version.ts'

/** Limits of time for work on the database, in milliseconds. */
export interface DatabaseTimes {
  /** For a connection. */
  readonly connectMs: number
  /** For one statement, by the server and by this process. */
  readonly statementMs: number
}

/** The connection to a PostgreSQL database. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/name?…`, as libpq reads it. */
  readonly url: string
  readonly times?: DatabaseTimes
  /** The most connections of this process. */
  readonly connections?: number
}

/** The database that the processes of a hub share, for tables that are no part of the store. */
export interface HubDatabase {
  readonly database: Pick<PostgresDatabase, 'query'>
  /** Connects, and brings the schema to this version. */
  open(): Promise<unknown>
}

/** A PostgreSQL database with the schema of this program. No failure of it ends the process. */
export class PostgresDatabase implements AsyncDisposable {
  readonly #pool: Pool
  readonly #connection: ClientConfig
  readonly #clients = new Set<Client>()

  private constructor(pool: Pool, connection: ClientConfig) {
    this.#pool = pool
    this.#connection = connection
    // A connection that waits in the pool and breaks is replaced at its next use.
    pool.on('error', () => {})
    // One that breaks between two statements of a transaction makes the next one fail.
    pool.on('connect', (client) => {
      client.on('error', () => {})
      if (client instanceof Client) this.#clients.add(client)
    })
    pool.on('remove', (client) => {
      if (client instanceof Client) this.#clients.delete(client)
    })
  }

  /** Prepares connections to the database. Nothing is sent before the first use. */
  static at({ url, times = TIMES, connections = CONNECTIONS }: DatabaseOptions): PostgresDatabase {
    const connection: ClientConfig = {
      connectionString: url,
      connectionTimeoutMillis: times.connectMs,
      statement_timeout: times.statementMs,
      query_timeout: times.statementMs + MARGIN_MS,
      idle_in_transaction_session_timeout: times.statementMs,
      keepAlive: true,
      application_name: 'skillsyncd',
    }
    const pool: PoolConfig = { ...connection, max: connections }
    return new PostgresDatabase(new Pool(pool), connection)
  }

  /** Connects, and brings the schema to this version. Throws `store-failed` if either fails. */
  static async open(options: DatabaseOptions): Promise<PostgresDatabase> {
    const database = PostgresDatabase.at(options)
    try {
      await database.migrate()
      return database
    } catch (error) {
      await database[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * Calls back after each change that another process, or this one, announces, until disposed. Changes are lost while
   * the connection is: `onLost` is called once when it ends by itself. Rejects with `store-failed`.
   */
  async listen(onChange: () => void, onLost: () => void): Promise<AsyncDisposable> {
    return this.#run('wait for changes', async () => {
      const client = new Client(this.#connection)
      let isOver = false
      const end = (): void => {
        if (!isOver) onLost()
        isOver = true
      }
      client.on('error', end)
      client.on('end', end)
      client.on('notification', onChange)
      try {
        await client.connect()
        await client.query(`LISTEN ${CHANNEL}`)
      } catch (error) {
        isOver = true
        await client.end().catch(() => {})
        throw error
      }
      return {
        async [Symbol.asyncDispose]() {
          isOver = true
          await endSoon(client.end())
        },
      }
    })
  }

  /** Runs one statement. Throws `store-failed`, with the attempt in its message, also if there is no answer in time. */
  async query(
    attempt: string,
    text: string,
    values: readonly unknown[] = [],
    withinMs?: number,
  ): Promise<readonly QueryResultRow[]> {
    const statement = { text, values: [...values], ...(withinMs !== undefined && { query_timeout: withinMs }) }
    return this.#run(attempt, async () => (await this.#pool.query(statement)).rows)
  }

  /** Runs the work as one transaction. An error in it leaves the database as it was. */
  async transact<Done>(attempt: string, work: (client: PoolClient) => Promise<Done>): Promise<Done> {
    return this.#run(attempt, async () => {
      const client = await this.#pool.connect()
      let failure: Error | undefined
      try {
        await client.query('BEGIN')
        const done = await work(client)
        await client.query('COMMIT')
        return done
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error))
        throw error
      } finally {
        // A connection whose transaction failed is closed: the server rolls back then, also if it can no longer be asked.
        client.release(failure)
      }
    })
  }

  /** Ends all connections at once. Work that waits for the database, and all later work, fails with `store-failed`. */
  async cutOff(): Promise<void> {
    // A client with a statement that has no answer closes its socket. The pool alone would wait for the answer.
    const ends = [...this.#clients].map(async (client) => client.end())
    await endSoon(Promise.allSettled([...ends, this.#pool.end()]))
  }

  /** A connection to a database that is silent is left to the end of the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endSoon(this.#pool.end())
  }

  /** Brings the schema to this version, if it is not. Throws `store-failed`. */
  async migrate(): Promise<void> {
    await migrateDatabase(this)
  }

  /** Looks at the schema, and changes nothing. Throws `store-failed`. */
  async schema(): Promise<FoundSchema> {
    return findSchema(this)
  }

  /** Gives a role the rights to run a hub, and returns the statements. Only for the role that owns the schema. */
  async grantTo(role: string): Promise<readonly string[]> {
    return grantToRole(this, role)
  }

  async #run<Done>(attempt: string, work: () => Promise<Done>): Promise<Done> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof SyncError || !(cause instanceof Error)) throw cause
      throw new DatabaseFailure(`Cannot ${attempt}: ${cause.message}`, { cause })
    }
  }
}

async function endSoon(ending: Promise<unknown>): Promise<void> {
  await Promise.race([ending.catch(() => {}), setTimeout(END_MS, undefined, { ref: false })])
}

const END_MS = 1_000

const TIMES: DatabaseTimes = { connectMs: 5_000, statementMs: 30_000 }
const CONNECTIONS = 8
/** The server ends a statement first, and says why. */
const MARGIN_MS = 500
