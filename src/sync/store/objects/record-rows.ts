import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction, type runOnDatabase } from './database.ts'
import { MOST_RECORD_BYTES, MOST_TEXT_BYTES, RECORD_MS } from './object-store.ts'
import type { HeadRecord, RecordQuery } from './object-store.ts'

/** The rows of records of heads, on one connection. What is added or removed costs as much as itself. */
export class RecordRows {
  readonly #database: DatabaseSync
  readonly #run: typeof runOnDatabase
  readonly #remove: StatementSync
  readonly #put: StatementSync
  readonly #newest: StatementSync
  readonly #prune: StatementSync
  readonly #all: StatementSync
  readonly #latest: StatementSync
  readonly #leaving: StatementSync
  readonly #get: StatementSync

  /** `run` runs all work on the database, and converts its errors. */
  constructor(database: DatabaseSync, run: typeof runOnDatabase) {
    this.#database = database
    this.#run = run
    // INSERT OR REPLACE would write a journal of its own into the folder for temporary files.
    this.#remove = database.prepare('DELETE FROM record WHERE sequence = ?')
    this.#put = database.prepare('INSERT INTO record (sequence, at, total, has_leaving, text) VALUES (?, ?, ?, ?, ?)')
    this.#newest = database.prepare(
      `SELECT at, total FROM record WHERE ${OF_HEADS} AND ${USABLE} ORDER BY sequence DESC LIMIT 1`,
    )
    this.#prune = database.prepare('DELETE FROM record WHERE at < ? OR total <= ?')
    // The index has the sequences, and is small.
    this.#all = database.prepare(
      `SELECT sequence FROM record INDEXED BY record_total WHERE ${OF_HEADS} ORDER BY sequence DESC`,
    )
    this.#latest = database.prepare(`SELECT sequence FROM record WHERE ${OF_HEADS} ORDER BY sequence DESC LIMIT ?`)
    this.#leaving = database.prepare(
      `SELECT sequence FROM record WHERE has_leaving = 1 AND ${OF_HEADS} AND instr(text, ?) > 0 ORDER BY sequence DESC`,
    )
    this.#get = database.prepare(`SELECT * FROM record WHERE sequence = ? AND ${USABLE}`)
  }

  /** Adds records, and removes those that have no room beside the newest. For a transaction of the caller. */
  put(records: readonly HeadRecord[]): void {
    for (const { sequence, at, total, hasLeaving, text } of records) {
      this.#remove.run(sequence)
      this.#put.run(sequence, at, total, Number(hasLeaving), text)
    }
    const newest = this.#newest.get()
    if (newest !== undefined)
      this.#prune.run(Number(newest['at']) - RECORD_MS, Number(newest['total']) - MOST_RECORD_BYTES)
  }

  add(records: readonly HeadRecord[]): void {
    this.#run('add records', () => inTransaction(this.#database, () => this.put(records)))
  }

  /** For a transaction of the caller. */
  clear(): void {
    this.#database.exec('DELETE FROM record')
  }

  /** Newest first. */
  sequences({ most, leaving }: RecordQuery): readonly number[] {
    const rows = this.#run('list records', () => {
      if (leaving !== undefined) return this.#leaving.all(leaving)
      return most === undefined ? this.#all.all() : this.#latest.all(most)
    })
    return rows.map(({ sequence }) => Number(sequence))
  }

  /** `undefined` if there is none that can be used. */
  get(sequence: number): HeadRecord | undefined {
    const row = this.#run('read a record', () => this.#get.get(sequence))
    if (row === undefined) return undefined
    const { at, total, has_leaving: hasLeaving, text } = row
    return { sequence, at: Number(at), total: Number(total), hasLeaving: hasLeaving === 1, text: String(text) }
  }
}

const OF_HEADS = 'sequence BETWEEN 1 AND (SELECT max(sequence) FROM head)'

/**
 * A database of another hand can have any value: a number that JavaScript has not would end the process. The plus keeps
 * SQLite from a search by an index that all rows fit.
 */
const USABLE = `
  +at BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} AND +total BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}
  AND octet_length(text) <= ${MOST_TEXT_BYTES}`
