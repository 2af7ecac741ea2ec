import type { PoolClient, QueryResultRow } from 'pg'
import { LEADER, SyncError } from '../model/sync-error.ts'
import { notify } from './notify.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** A log, and the document beside it. */
export interface LogNames {
  readonly log: string
  readonly document: string
}

/** The lines that are to be appended to a log. */
export interface LogLines {
  readonly log: string
  /** The place of the first one, from 0. */
  readonly position: number
  /** Without line breaks. */
  readonly lines: readonly string[]
}

/**
 * The logs of channels in a PostgreSQL database. A log only grows, and a place is taken once: two processes that each
 * believe to lead cannot sign different entries for it, as long as each appends here before it signs.
 */
export class SharedLogs {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Yields the lines of a log from this place on, oldest first, in pages. */
  async *since(log: string, position: number): AsyncGenerator<readonly string[]> {
    const attempt = `read the log "${log}"`
    yield* linesSince(async (text, values) => this.#database.query(attempt, text, values), log, position)
  }

  /** Returns a text for each log that changes when the log or its document does. One short query for all. */
  async marks(logs: readonly LogNames[]): Promise<readonly string[]> {
    const columns = [logs.map(({ log }) => log), logs.map(({ document }) => document)]
    return (await this.#database.query('look for new entries', MARKS, columns)).map(({ mark }) => String(mark))
  }

  /**
   * Appends lines in the epoch of the leader. Throws `store-failed`, and appends nothing, if the epoch is over, or if the
   * log has another length.
   */
  async append(added: LogLines, epoch: number): Promise<void> {
    const { log } = added
    return this.#database.transact(`append to the log "${log}"`, async (client) => appendIn(client, added, epoch))
  }
}

async function appendIn(client: PoolClient, { log, position, lines }: LogLines, epoch: number): Promise<void> {
  // The next leader counts the epoch up, and waits for the end of this transaction.
  const present = await client.query('SELECT epoch FROM skillsyncd.present WHERE epoch = $1 FOR SHARE', [epoch])
  if (present.rowCount !== 1) throw refusal(log, 'this process does not lead the hub any more')
  const { rows } = await client.query(SIZE, [log])
  const size = Number(rows[0]?.['size'])
  if (size !== position) throw refusal(log, `it has ${size} entries in the database, and ${position} here`)
  await insertLines(client, { log, position, lines })
  await notify(client)
}

/** Writes lines at a place that the caller knows to be the end of the log, a page of them with each statement. */
export async function insertLines(client: PoolClient, { log, position, lines }: LogLines): Promise<void> {
  for (let from = 0; from < lines.length; from += AT_ONCE)
    await client.query(INSERT, [log, position + from, lines.slice(from, from + AT_ONCE)])
}

/** Runs one statement that reads. */
type Read = (text: string, values: unknown[]) => Promise<readonly QueryResultRow[]>

/** Yields the lines of a log from this place on, oldest first, a page of them from each statement. */
export async function* linesSince(read: Read, log: string, position: number): AsyncGenerator<readonly string[]> {
  const text = 'SELECT line FROM skillsyncd.log_entry WHERE log = $1 AND position >= $2 ORDER BY position LIMIT $3'
  for (let from = position; ;) {
    const rows = await read(text, [log, from, AT_ONCE])
    if (rows.length > 0) yield rows.map(({ line }) => String(line))
    if (rows.length < AT_ONCE) return
    from += rows.length
  }
}

const SIZE = 'SELECT coalesce(max(position) + 1, 0) AS size FROM skillsyncd.log_entry WHERE log = $1'

const INSERT = `
  INSERT INTO skillsyncd.log_entry (log, position, line)
  SELECT $1, $2::bigint + number - 1, line FROM unnest($3::text[]) WITH ORDINALITY AS added (line, number)`

const MARKS = `
  SELECT concat_ws(' ',
    coalesce((SELECT max(position) + 1 FROM skillsyncd.log_entry WHERE log = named.log), 0),
    coalesce((SELECT version FROM skillsyncd.document WHERE name = named.document), 0)) AS mark
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS named (log, document, number) ORDER BY number`

/** The lines of one query. */
const AT_ONCE = 10_000

function refusal(log: string, why: string): SyncError {
  return new SyncError('store-failed', `Cannot append to the log "${log}": ${why}`, { fix: LEADER })
}
