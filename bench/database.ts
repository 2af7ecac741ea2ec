import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
import type { Postgres } from '../test/support/postgres.ts'
import { cpuMsOfAll } from './process-use.ts'

/** The work of a database since its server, or its statistics, began. */
export interface DatabaseUse {
  readonly statements: number
  /** The server counts those of a connection within a second, and of one that does nothing more within ten. */
  readonly transactions: number
  /** The transactions that wrote something. */
  readonly writes: number
  readonly walBytes: number
  /** Processor time of the whole server, in milliseconds. */
  readonly cpuMs: number
}

/** A PostgreSQL server that counts what is asked of it. It does not sync its writes to the disk. */
export class CountedPostgres implements AsyncDisposable {
  readonly #server: Postgres
  readonly #client: Client

  private constructor(server: Postgres, client: Client) {
    this.#server = server
    this.#client = client
  }

  static async start(programs: string): Promise<CountedPostgres> {
    await using opened = new AsyncDisposableStack()
    const server = opened.use(await startPostgres(programs))
    const url = (await server.createDatabase()).replace(/\/test\d+\?/, '/postgres?')
    const before = await connected(url)
    await before.query('ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements')
    await before.end()
    await server.stop()
    await server.start()
    const client = await connected(url)
    await client.query('CREATE EXTENSION pg_stat_statements')
    opened.move()
    return new CountedPostgres(server, client)
  }

  /** Creates an empty database, and returns its address. */
  async createDatabase(): Promise<string> {
    return this.#server.createDatabase()
  }

  /** The use of a database. The writes, the log and the processor time are those of the server. */
  async use(url: string): Promise<DatabaseUse> {
    const { rows } = await this.#client.query(USE, [nameIn(url)])
    const { statements, transactions, writes, wal } = rows[0] ?? {}
    return {
      statements: Number(statements),
      transactions: Number(transactions),
      writes: Number(writes),
      walBytes: Number(wal),
      cpuMs: await this.cpuMs(),
    }
  }

  /** Processor time of the whole server so far, in milliseconds. */
  async cpuMs(): Promise<number> {
    return cpuMsOfAll(Number.parseInt(await readFile(join(this.#server.data, 'postmaster.pid'), 'utf8'), 10))
  }

  /** The connections to a database now. */
  async connections(url: string): Promise<number> {
    const text = 'SELECT count(*) AS open FROM pg_stat_activity WHERE datname = $1'
    return Number((await this.#client.query(text, [nameIn(url)])).rows[0]?.['open'])
  }

  /** The id of the process of a hub that leads. */
  async leader(url: string): Promise<string | undefined> {
    const client = await connected(url)
    const { rows } = await client.query('SELECT holder FROM skillsyncd.leader')
    await client.end()
    const holder: unknown = rows[0]?.['holder']
    return typeof holder === 'string' ? holder : undefined
  }

  /** The statements that a database has run most often since the counts began, with their number. */
  async mostFrequent(url: string): Promise<readonly (readonly [text: string, calls: number])[]> {
    const { rows } = await this.#client.query(FREQUENT, [nameIn(url)])
    return rows.map(({ query, calls }) => [String(query).replaceAll(/\s+/g, ' ').trim(), Number(calls)])
  }

  /** Begins the counts of statements anew. */
  async forgetStatements(): Promise<void> {
    await this.#client.query('SELECT pg_stat_statements_reset()')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
    await this.#server[Symbol.asyncDispose]()
  }
}

/** The difference of two uses. */
export function useBetween(before: DatabaseUse, after: DatabaseUse): DatabaseUse {
  return {
    statements: after.statements - before.statements,
    transactions: after.transactions - before.transactions,
    writes: after.writes - before.writes,
    walBytes: after.walBytes - before.walBytes,
    cpuMs: after.cpuMs - before.cpuMs,
  }
}

/** A multiple of a use. */
export function timesUse(factor: number, use: DatabaseUse): DatabaseUse {
  return {
    statements: factor * use.statements,
    transactions: factor * use.transactions,
    writes: factor * use.writes,
    walBytes: factor * use.walBytes,
    cpuMs: factor * use.cpuMs,
  }
}

async function connected(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}

function nameIn(url: string): string {
  return /\/(test\d+)\?/.exec(url)?.[1] ?? ''
}

const USE = `
  SELECT
    (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE dbid = counted.datid) AS statements,
    xact_commit + xact_rollback AS transactions,
    pg_snapshot_xmax(pg_current_snapshot())::text AS writes,
    pg_current_wal_insert_lsn() - '0/0' AS wal
  FROM pg_stat_database AS counted WHERE datname = $1`

const FREQUENT = `
  SELECT query, calls FROM pg_stat_statements, pg_database
  WHERE dbid = pg_database.oid AND datname = $1 ORDER BY calls DESC LIMIT 8`
