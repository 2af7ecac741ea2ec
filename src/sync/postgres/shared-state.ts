import type { PoolClient } from 'pg'
import { SyncError } from '../model/sync-error.ts'
import type { HeadRecord, StoreHead } from '../store/objects/object-store.ts'
import { putRecords } from './head-records.ts'
import { notify } from './notify.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { putDocuments } from './shared-documents.ts'
import type { DocumentChange } from './shared-documents.ts'
import { insertLines, linesSince } from './shared-logs.ts'

/** The lines of the log of a channel, oldest first. */
export interface SharedLog {
  readonly name: string
  readonly lines: readonly string[]
}

/** All that the processes of a hub share, but for the objects. */
export interface SharedState {
  /** Newest first. */
  readonly heads: readonly StoreHead[]
  readonly documents: readonly (DocumentChange & { readonly bytes: Uint8Array })[]
  readonly logs: readonly SharedLog[]
}

/** Throws `state-in-use` as a `SyncError` if a process of the hub has shown itself of late: it could publish meanwhile. */
export async function expectNoReplica(database: PostgresDatabase): Promise<void> {
  const names = (await database.query('find processes of the hub', RUNNING)).map(({ name }) => `"${String(name)}"`)
  if (names.length > 0) throw runningError(names)
}

/** Reads the state as of one moment. Throws `store-failed`. */
export async function readSharedState(database: PostgresDatabase): Promise<SharedState> {
  return database.transact('read the database', async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const heads = await client.query('SELECT sequence, generation FROM skillsyncd.head ORDER BY sequence DESC')
    const documents = await client.query(
      'SELECT name, bytes FROM skillsyncd.document WHERE bytes IS NOT NULL ORDER BY name',
    )
    const read: SharedLog[] = []
    const logs = await client.query('SELECT DISTINCT log FROM skillsyncd.log_entry ORDER BY log')
    for (const { log } of logs.rows) {
      const name = String(log)
      const lines: string[] = []
      for await (const page of linesSince(async (text, values) => (await client.query(text, values)).rows, name, 0))
        lines.push(...page)
      read.push({ name, lines })
    }
    return {
      heads: heads.rows.map(({ sequence, generation }) => ({
        sequence: Number(sequence),
        generation: Buffer.from(generation).toString('hex'),
      })),
      documents: documents.rows.map(({ name, bytes }) => ({ name: String(name), bytes: new Uint8Array(bytes) })),
      logs: read,
    }
  })
}

/** Throws `store-failed` if the database has something of a hub already, besides objects that no head names. */
export async function expectEmpty(database: PostgresDatabase): Promise<void> {
  const [row] = await database.query('read the database', CONTENT)
  const { sequence, documents, entries } = row ?? {}
  if (Number(sequence) > 0) throw contentError(`generation ${String(sequence)}`)
  if (Number(documents) > 0) throw contentError('decisions, tokens or records')
  if (Number(entries) > 0) throw contentError('the log of a channel')
}

/**
 * Writes the state into a database that has none, whole or not at all. The objects of the heads are there. Throws
 * `store-failed` if there is a state, or if a process of a hub runs.
 */
export async function fillSharedState(
  database: PostgresDatabase,
  state: SharedState,
  records: AsyncIterable<readonly HeadRecord[]> | [] = [],
): Promise<void> {
  await database.transact('fill the database', async (client) => {
    const { rows } = await client.query(FILL, headValues(state.heads[0]))
    const [row] = rows
    if (row === undefined) throw contentError('a generation')
    const running = await client.query(RUNNING)
    if (running.rows.length > 0) throw runningError(running.rows.map(({ name }) => `"${String(name)}"`))
    for (const head of state.heads)
      await client.query('INSERT INTO skillsyncd.head (sequence, generation) VALUES ($1, $2)', headValues(head))
    for await (const lot of records) await putRecords(client, lot)
    await expectNoDocument(client)
    await putDocuments(client, state.documents, Number(row['version']))
    for (const { name, lines } of state.logs) await insertLines(client, { log: name, position: 0, lines })
    await notify(client)
  })
}

/** The row of the present head is locked by now: no other transaction writes a document meanwhile. */
async function expectNoDocument(client: PoolClient): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM skillsyncd.document WHERE bytes IS NOT NULL LIMIT 1')
  if (rowCount !== 0) throw contentError('decisions, tokens or records')
}

function headValues(head: StoreHead | undefined): unknown[] {
  return head === undefined ? [0, null] : [head.sequence, Buffer.from(head.generation, 'hex')]
}

function contentError(found: string): SyncError {
  return new SyncError('store-failed', `Cannot fill the database: it has ${found} already; name an empty one`)
}

function runningError(names: readonly string[]): SyncError {
  const which = names.join(', ')
  return new SyncError(
    'store-failed',
    `Cannot copy while the hub runs: the database was used by a process on ${which} in the last ${RECENT_S} seconds; stop all processes first`,
  )
}

/** A process shows itself more often. */
const RECENT_S = 15

const RUNNING = `
  SELECT DISTINCT name FROM skillsyncd.replica
  WHERE seen > clock_timestamp() - interval '${RECENT_S} seconds' ORDER BY name LIMIT 10`

const CONTENT = `
  SELECT sequence,
    (SELECT count(*) FROM skillsyncd.document WHERE bytes IS NOT NULL) AS documents,
    (SELECT count(*) FROM skillsyncd.log_entry) AS entries
  FROM skillsyncd.present`

const FILL = `
  UPDATE skillsyncd.present
  SET sequence = $1, generation = $2, version = version + 1, epoch = epoch + 1
  WHERE generation IS NULL RETURNING version`
