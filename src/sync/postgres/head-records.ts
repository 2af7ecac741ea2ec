import type { PoolClient, QueryResultRow } from 'pg'
import { MOST_RECORD_BYTES, MOST_TEXT_BYTES, RECORD_MS } from '../store/objects/object-store.ts'
import type { HeadRecord, RecordQuery } from '../store/objects/object-store.ts'

/** Runs one statement. */
type Query = (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly QueryResultRow[] }>

/** Adds records, and removes those that have no room beside the newest. In a transaction of the caller. */
export async function putRecords(client: PoolClient, records: readonly HeadRecord[]): Promise<void> {
  const names = ['sequence', 'at', 'total', 'hasLeaving', 'text'] as const
  const columns = names.map((name) => records.map((record) => record[name]))
  await client.query(PUT, columns)
  await client.query(PRUNE, [RECORD_MS, MOST_RECORD_BYTES])
}

/** Returns the sequences of the records that are wanted, newest first. */
export async function recordSequences(query: Query, { most, leaving }: RecordQuery): Promise<readonly number[]> {
  const { rows } = await query(SEQUENCES, [leaving ?? null, most ?? null])
  return rows.map(({ sequence }) => Number(sequence))
}

/** Returns the records of these sequences, but those that have no usable form. */
export async function* recordsOf(query: Query, sequences: readonly number[]): AsyncGenerator<HeadRecord> {
  for (let from = 0; from < sequences.length; from += AT_ONCE) {
    const { rows } = await query(READ, [sequences.slice(from, from + AT_ONCE), MOST_TEXT_BYTES])
    for (const { sequence, at, total, has_leaving: hasLeaving, text } of rows)
      yield {
        sequence: Number(sequence),
        at: Number(at),
        total: Number(total),
        hasLeaving: hasLeaving === true,
        text: String(text),
      }
  }
}

/** A statement reads no more than so many records: each can have some mebibytes. */
const AT_ONCE = 16

/** A database of another hand can have any number. */
const OF_HEADS = 'sequence BETWEEN 1 AND (SELECT sequence FROM skillsyncd.present)'
const USABLE = `
  at BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} AND total BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`

const SEQUENCES = `
  SELECT sequence FROM skillsyncd.record
  WHERE ${OF_HEADS} AND ($1::text IS NULL OR (has_leaving AND strpos(text, $1) > 0))
  ORDER BY sequence DESC LIMIT $2::bigint`

const PUT = `
  INSERT INTO skillsyncd.record (sequence, at, total, has_leaving, text)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::text[])
  ON CONFLICT (sequence) DO UPDATE
  SET at = excluded.at, total = excluded.total, has_leaving = excluded.has_leaving, text = excluded.text`

const PRUNE = `
  WITH newest AS (SELECT at, total FROM skillsyncd.record WHERE ${OF_HEADS} AND ${USABLE} ORDER BY sequence DESC LIMIT 1)
  DELETE FROM skillsyncd.record
  WHERE record.at < (SELECT at FROM newest) - $1::bigint OR record.total <= (SELECT total FROM newest) - $2::bigint`

const READ = `
  SELECT * FROM skillsyncd.record
  WHERE sequence = ANY ($1) AND ${USABLE} AND octet_length(text) <= $2 ORDER BY sequence DESC`
