import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { contentKeyText } from '../../daemon/runtime/content-use.ts'
import type { ContentUse, SkillContent } from '../../daemon/runtime/content-use.ts'
import { inTransaction, runOnDatabase } from '../../sync/store/objects/database.ts'
import type { CountedUse } from './answered-use.ts'

/** Uses that wait to be written. There are at most `MOST_PENDING` contents; the uses of further ones are not counted. */
export class PendingContents {
  #rows = new Map<string, { -readonly [Key in keyof ContentUse]: ContentUse[Key] }>()

  add(use: CountedUse): void {
    if (use.kind === 'list' || use.kind === 'read' || use.content === undefined) return
    const { skill, content } = use
    this.#add({ skill, content, uses: 1, failures: use.kind === 'failure' ? 1 : 0 })
  }

  get size(): number {
    return this.#rows.size
  }

  take(): readonly ContentUse[] {
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    return rows
  }

  /** Puts rows back that could not be written. */
  restore(rows: readonly ContentUse[]): void {
    for (const row of rows) this.#add(row)
  }

  #add({ uses, failures, ...of }: ContentUse): void {
    const key = contentKeyText(of)
    const known = this.#rows.get(key)
    if (known !== undefined) {
      known.uses += uses
      known.failures += failures
    } else if (this.#rows.size < MOST_PENDING) this.#rows.set(key, { ...of, uses, failures })
  }
}

/** Each takes some three hundred bytes. */
const MOST_PENDING = 10_000

/** A row, with the last day of a use. */
export interface DatedContentUse extends ContentUse {
  readonly day: string
}

/** The uses of contents in the database of one state folder. */
export class ContentUses {
  readonly #database: DatabaseSync
  readonly #add: StatementSync
  readonly #has: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#add = database.prepare(ADD)
    this.#has = database.prepare('SELECT 1 FROM content_use WHERE skill = ? AND content = ?')
  }

  /** Adds to the uses, all or none. Beyond twice `MOST_KEPT` contents, further ones are not counted until a day has passed. */
  add(rows: readonly ContentUse[], today: string): void {
    if (rows.length === 0) return
    this.#run(() => {
      let size = Number(this.#database.prepare('SELECT count(*) AS size FROM content_use').get()?.['size'] ?? 0)
      for (const { skill, content, uses, failures } of rows) {
        const isKnown = this.#has.get(skill, content) !== undefined
        if (!isKnown && size >= 2 * MOST_KEPT) continue
        if (!isKnown) size += 1
        this.#add.run(skill, content, uses, failures, today)
      }
    })
  }

  /** Removes the contents that were last used before the day, and of the others the oldest beyond `MOST_KEPT`. */
  prune(first: string): void {
    this.#run(() => {
      this.#database.prepare('DELETE FROM content_use WHERE day < ?').run(first)
      this.#database.prepare(REMOVE_OLDEST).run(MOST_KEPT)
    })
  }

  /** Gives this database an id, once, and returns it. One that replaces a damaged one has another. */
  ensureId(): string {
    return this.#run(() => {
      this.#database.prepare(NAME_ONCE).run(randomUUID())
      return String(this.#database.prepare('SELECT id FROM content_use_of').get()?.['id'])
    })
  }

  /** Rows with totals that the database of the hub may lack. */
  unsharedRows(): readonly DatedContentUse[] {
    const text = 'SELECT * FROM content_use WHERE unshared = 1 ORDER BY skill, content LIMIT ?'
    return this.#run(() => this.#database.prepare(text).all(MOST_AT_ONCE)).map(datedUseIn)
  }

  /** Notes that the database of the hub has these totals. One that has grown meanwhile stays unshared. */
  noteShared(rows: readonly ContentUse[]): void {
    const done = this.#database.prepare(NOTE_SHARED)
    this.#run(() => rows.forEach(({ skill, content, uses, failures }) => done.run(skill, content, uses, failures)))
  }

  #run<Done>(work: () => Done): Done {
    return runOnDatabase('write the counts of use', () => inTransaction(this.#database, work))
  }
}

/** Reads the uses of these contents; those without a use are left out. */
export function contentUsesIn(database: DatabaseSync, wanted: readonly SkillContent[]): readonly ContentUse[] {
  return runOnDatabase('read the counts of use', () => {
    const pairs = JSON.stringify(wanted.map(({ skill, content }) => [skill, content]))
    return database.prepare(READ).all(pairs).map(contentUseIn)
  })
}

/** The values of a row, of any database. */
export function contentUseIn(row: Readonly<Record<string, unknown>>): ContentUse {
  const { skill, content, uses, failures } = row
  return { skill: String(skill), content: String(content), uses: Number(uses), failures: Number(failures) }
}

function datedUseIn(row: Readonly<Record<string, unknown>>): DatedContentUse {
  return { ...contentUseIn(row), day: String(row['day']) }
}

/** The contents that stay after a day; some five megabytes. */
const MOST_KEPT = 20_000

/** The rows that are sent at once; some hundred kilobytes. */
export const MOST_AT_ONCE = 1_000

export const CONTENT_TABLES = `
  CREATE TABLE content_use (
    skill TEXT NOT NULL,
    content TEXT NOT NULL,
    uses INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    day TEXT NOT NULL,
    unshared INTEGER NOT NULL,
    PRIMARY KEY (skill, content)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE content_use_of (id TEXT NOT NULL) STRICT;
`

const ADD = `
  INSERT INTO content_use (skill, content, uses, failures, day, unshared) VALUES (?, ?, ?, ?, ?, 1)
  ON CONFLICT (skill, content) DO UPDATE SET
    uses = uses + excluded.uses, failures = failures + excluded.failures, day = max(day, excluded.day), unshared = 1`

const REMOVE_OLDEST = `
  DELETE FROM content_use WHERE (skill, content) IN (
    SELECT skill, content FROM content_use ORDER BY day DESC, skill, content LIMIT -1 OFFSET ?)`

const NAME_ONCE = 'INSERT INTO content_use_of (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM content_use_of)'

const NOTE_SHARED = `
  UPDATE content_use SET unshared = 0 WHERE skill = ? AND content = ? AND uses = ? AND failures = ?`

const READ = `
  SELECT skill, content, uses, failures FROM content_use
  WHERE (skill, content) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))`
