import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction, type runOnDatabase } from './database.ts'
import { blobOf, digestIn } from './object-rows.ts'
import type { HeadRecord, StoreHead } from './object-store.ts'
import type { RecordRows } from './record-rows.ts'

/** The rows of heads, on one connection: the present head, and the earlier ones that are kept. */
export class HeadRows {
  readonly #database: DatabaseSync
  readonly #run: typeof runOnDatabase
  readonly #newest: StatementSync
  readonly #all: StatementSync
  readonly #add: StatementSync
  readonly #forget: StatementSync
  readonly #records: RecordRows

  /** `run` runs all work on the database, and converts its errors. */
  constructor(database: DatabaseSync, run: typeof runOnDatabase, records: RecordRows) {
    this.#database = database
    this.#records = records
    this.#run = run
    this.#newest = database.prepare('SELECT sequence, generation FROM head ORDER BY sequence DESC LIMIT 1')
    this.#all = database.prepare('SELECT sequence, generation FROM head ORDER BY sequence DESC')
    this.#add = database.prepare('INSERT INTO head (sequence, generation) VALUES (?, ?)')
    this.#forget = database.prepare('DELETE FROM head WHERE sequence = ?')
  }

  newest(): StoreHead | undefined {
    return this.#run('read the head', () => this.#head())
  }

  /** Newest first. */
  all(): readonly StoreHead[] {
    return this.#run('read the heads', () => this.#all.all()).map(headIn)
  }

  swap(expected: StoreHead | undefined, next: StoreHead, record?: HeadRecord): boolean {
    if (next.sequence <= (expected?.sequence ?? 0)) throw new TypeError('The sequence of a head grows')
    return this.#inTransaction('publish', () => {
      const head = this.#head()
      if (head?.sequence !== expected?.sequence || head?.generation !== expected?.generation) return false
      this.#insert(next)
      if (record !== undefined) this.#records.put([record])
      return true
    })
  }

  /** Replaces all heads by these, and forgets the records: those of other heads may be among them. */
  adopt(heads: readonly StoreHead[]): void {
    this.#inTransaction('copy generations', () => {
      this.#records.clear()
      for (const { sequence } of this.#all.all().map(headIn)) this.#forget.run(sequence)
      for (const head of heads) this.#insert(head)
    })
  }

  /** Adds an earlier head, unless there is one of its sequence. */
  addEarlier(head: StoreHead): void {
    this.#inTransaction('copy generations', () => {
      const newest = this.#head()
      const isThere = this.#all.all().some((row) => headIn(row).sequence === head.sequence)
      if (newest !== undefined && head.sequence < newest.sequence && !isThere) this.#insert(head)
    })
  }

  /** Forgets the earlier heads whose sequence is not kept. */
  forgetEarlier(kept: ReadonlySet<number>): void {
    this.#inTransaction('forget generations', () => {
      const [, ...earlier] = this.#all.all().map(headIn)
      for (const { sequence } of earlier) if (!kept.has(sequence)) this.#forget.run(sequence)
    })
  }

  #head(): StoreHead | undefined {
    const row = this.#newest.get()
    return row && headIn(row)
  }

  #insert({ sequence, generation }: StoreHead): void {
    this.#add.run(sequence, blobOf(generation))
  }

  #inTransaction<Done>(attempt: string, work: () => Done): Done {
    return this.#run(attempt, () => inTransaction(this.#database, work))
  }
}

function headIn(row: Readonly<Record<string, unknown>>): StoreHead {
  return { sequence: Number(row['sequence']), generation: digestIn(row['generation']) }
}
