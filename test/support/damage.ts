import { open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../../src/sync/store/store.ts'

/** Overwrites the bytes of an object, as a failing disk may. What is kept of it in memory is not touched. */
export function damageObject(of: Store | string, digest: string): void {
  expectOne(of, digest)
  changeDatabase(
    of,
    `DELETE FROM piece WHERE object = (SELECT id FROM object WHERE digest = x'${digest}');
     UPDATE object SET bytes = CAST('damaged' AS BLOB) WHERE digest = x'${digest}'`,
  )
}

/** Removes an object that may be in use, as a disk that was restored in part may lack it. */
export function loseObject(of: Store | string, digest: string): void {
  expectOne(of, digest)
  changeDatabase(of, `DELETE FROM object WHERE digest = x'${digest}'`)
}

/** Runs SQL on the database of a store or a state folder, over a connection of its own, as another process. */
export function changeDatabase(of: Store | string, sql: string): void {
  using database = open(of)
  database.exec(sql)
}

/**
 * Makes the list of free pages lead nowhere: only a write that needs a page meets that. For a database that no process
 * has open.
 */
export async function damageFreePages(state: string): Promise<void> {
  await using file = await openFile(join(state, 'store.db'), 'r+')
  const pointers = Buffer.alloc(8)
  pointers.writeUInt32BE(999_999, 0)
  pointers.writeUInt32BE(5, 4)
  await file.write(pointers, 0, pointers.length, FREE_PAGES_AT)
}

/** The first page of the list and the number of all: sqlite.org/fileformat.html, 1.3. */
const FREE_PAGES_AT = 32

/** Overwrites a page of the database of a stopped daemon, beginning with the first. */
export async function damagePage(state: string, page: number): Promise<void> {
  const size = pagesOf(state)
  await using file = await openFile(join(state, 'store.db'), 'r+')
  await file.write(Buffer.alloc(size, 0xa5), 0, size, page * size)
}

/** The bytes of the pages of a database, after all that the WAL has is in them. */
function pagesOf(state: string): number {
  using database = new DatabaseSync(join(state, 'store.db'))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  return Number(database.prepare('PRAGMA page_size').get()?.['page_size'])
}

/** The SHA-256 of the generation that is served. */
export function servedIn(of: Store | string): string {
  using database = open(of)
  const row = database.prepare('SELECT lower(hex(generation)) AS served FROM head ORDER BY sequence DESC').get()
  return String(row?.['served'])
}

function expectOne(of: Store | string, digest: string): void {
  using database = open(of)
  if (database.prepare('SELECT 1 FROM object WHERE digest = ?').get(Buffer.from(digest, 'hex')) === undefined)
    throw new Error(`There is no object "${digest}"`)
}

function open(of: Store | string): DatabaseSync {
  return new DatabaseSync(typeof of === 'string' ? join(of, 'store.db') : of.folder.database, { timeout: 10_000 })
}
