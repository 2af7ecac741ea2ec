import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Damaged, SyncError } from '../../../../src/sync/model/sync-error.ts'
import { DatabaseFile } from '../../../../src/sync/store/objects/database-file.ts'
import {
  databaseErrorWith,
  openDatabase,
  openDatabaseReadOnly,
  openStillDatabase,
} from '../../../../src/sync/store/objects/database.ts'
import { ObjectRows } from '../../../../src/sync/store/objects/object-rows.ts'
import { SqliteObjects } from '../../../../src/sync/store/objects/sqlite-objects.ts'
import { turnsDuring } from '../../../support/loop-turns.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepsObjects } from './object-store.contract.ts'

keepsObjects(async () => {
  const folder = await temporaryFolder()
  return {
    open: async () => new SqliteObjects({ open: () => openDatabase(join(folder.path, 'store.db')) }),
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  }
})

test('a reader sees what the writer has published, and writes nothing', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using writer = new SqliteObjects({ open: () => openDatabase(path) })
  using reader = new SqliteObjects({ open: () => openDatabaseReadOnly(path) })

  const [digest] = await writer.put([Buffer.from('read me')])
  await writer.swap(undefined, { sequence: 1, generation: digest! })

  expect(await reader.head()).toEqual({ sequence: 1, generation: digest })
  expect(Buffer.from((await reader.get(digest!))!).toString()).toBe('read me')
  const next = { sequence: 2, generation: digest! }
  await expect(reader.swap({ sequence: 1, generation: digest! }, next)).rejects.toMatchObject({
    code: 'store-failed',
  })
})

test('to open a database that is there writes nothing', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  openDatabase(path).close()
  const written = await readFile(path)

  using database = openDatabase(path)

  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  expect((await stat(`${path}-wal`)).size).toBe(0)
  expect(await readFile(path)).toEqual(written)
})

test('a database that no process has open is read without any file beside it', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  const writer = new SqliteObjects({ open: () => openDatabase(path) })
  const [digest] = await writer.put([Buffer.from('read me')])
  writer[Symbol.dispose]()

  using reader = new SqliteObjects({ open: () => openStillDatabase(path) })

  expect(Buffer.from((await reader.get(digest!))!).toString()).toBe('read me')
  expect(await readdir(folder.path)).toEqual(['store.db'])
})

test('bytes that were changed on the disk are never given out', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  const [small, large] = await store.put([Buffer.from('intact'), Buffer.alloc(2 ** 19, 'x')])

  using other = new DatabaseSync(path)
  other.exec("UPDATE object SET bytes = x'00' WHERE bytes IS NOT NULL; DELETE FROM piece WHERE at > 0")

  for (const digest of [small!, large!]) {
    await expect(store.get(digest)).rejects.toMatchObject({ code: 'store-failed', name: 'SyncError' })
  }
})

test('a lease covers what is put into the database that takes the place of this one', async () => {
  await using folder = await temporaryFolder()
  let name = 'first.db'
  using store = new SqliteObjects({ open: () => openDatabase(join(folder.path, name)) })
  await store.put([Buffer.from('one'), Buffer.from('two'), Buffer.from('three')])
  using _lease = store.lease()

  store.reopen(() => (name = 'second.db'))
  const [digest] = await store.put([Buffer.from('four')])
  using _later = store.lease()
  await store.collect({ heads: new Set(), live: new Set() })

  expect(await store.get(digest!)).toEqual(new Uint8Array(Buffer.from('four')))
})

test('a database that lost a table is refused as any error of SQLite is', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  openDatabase(path).close()
  using other = new DatabaseSync(path)
  other.exec('DROP TABLE head')

  expect(() => new SqliteObjects({ open: () => openDatabaseReadOnly(path) })).toThrow('no such table: head')
  expect(() => new SqliteObjects({ open: () => openDatabaseReadOnly(path) })).toThrow(SyncError)
})

test('a database that is opened once more keeps the locks of those that have it open', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using first = openDatabase(path)
  first.prepare('SELECT count(*) FROM object').get()
  const before = await locksOn(path)

  openDatabase(path).close()

  expect(before).not.toEqual([])
  expect(await locksOn(path)).toEqual(before)
})

/** The locks of this process on a file, by their ranges of bytes (proc(5), /proc/locks). */
async function locksOn(path: string): Promise<string[]> {
  const { ino } = await stat(path)
  const lines = (await readFile('/proc/locks', 'utf8')).split('\n').map((line) => line.split(/ +/))
  return lines.flatMap(([, , , , pid, file, ...range]) =>
    pid === String(process.pid) && file?.endsWith(`:${ino}`) === true ? [range.join('-')] : [],
  )
}

test('a store whose new database cannot be opened reads the old one on', async () => {
  await using folder = await temporaryFolder()
  let isFull = false
  const open = (): DatabaseSync => {
    if (isFull) throw new SyncError('store-failed', 'no space is left')
    return openDatabase(join(folder.path, 'store.db'))
  }
  using store = new SqliteObjects({ open })
  const [digest] = await store.put([Buffer.from('kept')])
  isFull = true

  expect(() => store.reopen()).toThrow('no space is left')

  expect(await store.get(digest!)).toEqual(new Uint8Array(Buffer.from('kept')))
  using _lease = store.lease()
})

test('a copy ends while another process writes all the time', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  const digests = await store.put(Array.from({ length: 24 }, (_, at) => Buffer.alloc(2 ** 20, at)))
  using other = openDatabase(path)
  let head = 0
  const copied = new AbortController()

  const copying = store.copyTo(join(folder.path, 'copy.db')).finally(() => copied.abort())
  while (!copied.signal.aborted) {
    other.exec(`INSERT INTO head VALUES (${(head += 1)}, zeroblob(32))`)
    await setImmediate()
  }
  await copying

  using copy = new SqliteObjects({ open: () => openDatabaseReadOnly(join(folder.path, 'copy.db')) })
  expect(await copy.missing(digests)).toEqual([])
  expect(head).toBeGreaterThan(1)
})

test('an object whose row says an impossible size is damaged', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  const [digest] = await store.put([Buffer.alloc(2 ** 20)])
  using other = new DatabaseSync(path)
  other.exec('UPDATE object SET size = -size')

  await expect(store.get(digest!)).rejects.toBeInstanceOf(Damaged)
})

test('others have the thread while many large objects are collected', async () => {
  await using folder = await temporaryFolder()
  using store = new SqliteObjects({ open: () => openDatabase(join(folder.path, 'store.db')) })
  await store.put(Array.from({ length: 32 }, (_, at) => Buffer.alloc(2 ** 20, at)))

  const turns = await turnsDuring(store.collect({ heads: new Set(), live: new Set() }))

  // Each takes some four mebibytes of 32, first out of the table and then out of the file.
  expect(turns).toBeGreaterThanOrEqual(12)
})

test('an object that was damaged is intact once it is put again', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  const objects = [Buffer.from('intact'), Buffer.alloc(2 ** 20, 'x'), Buffer.alloc(2 ** 20, 'y')]
  const digests = await store.put(objects)
  using other = new DatabaseSync(path)
  other.exec(
    "UPDATE object SET bytes = x'00' WHERE size <> 1048576 OR id = 2; UPDATE piece SET bytes = x'00' WHERE at > 0",
  )

  expect(await store.put(objects)).toEqual(digests)

  for (const [at, digest] of digests.entries()) expect(Buffer.compare((await store.get(digest))!, objects[at]!)).toBe(0)
})

test.for([
  [
    'written by another program',
    'PRAGMA application_id = 7; CREATE TABLE other (a)',
    'it was not written by skillsyncd',
  ],
  ['of a later version', 'PRAGMA application_id = 1936419955; PRAGMA user_version = 99; CREATE TABLE object (a)', '99'],
] as const)('a database %s is refused, and stays as it is', async ([, sql, why]) => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using other = new DatabaseSync(path)
  other.exec(sql)

  expect(() => openDatabase(path)).toThrow(why)
  expect(() => openDatabaseReadOnly(path)).toThrow(why)
})

test('a file that is no database is refused with the reason', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  await writeFile(path, 'x'.repeat(8_192))

  expect(() => openDatabase(path)).toThrow('file is not a database')
})

test('damage that another connection meets is recorded, unless the database was replaced since', async () => {
  await using folder = await temporaryFolder()
  using objects = new SqliteObjects({ open: () => openDatabase(join(folder.path, 'store.db')) })
  const [corrupt, full] = [11, 13].map((code) => new SyncError('store-failed', '', { cause: databaseErrorWith(code) }))
  const before = objects.damageRecorder()

  before(full)
  const ofOther = objects.isCorrupt
  before(corrupt)
  const ofDamage = objects.isCorrupt
  objects.reopen()
  before(corrupt)

  expect([ofOther, ofDamage, objects.isCorrupt]).toEqual([false, true, false])
})

test('what another connection puts again is under the lease of the pull', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  const [digest] = await store.put([Buffer.from('dead, and wanted again')])
  using _lease = store.lease()
  using other = openDatabase(path)

  new ObjectRows(other).putAll([{ digest: digest!, bytes: Buffer.from('dead, and wanted again') }])

  expect((await store.collect({ heads: new Set(), live: new Set() })).objects).toBe(0)
})

test('the bytes in use are known at once, whichever connection stores them, and fewer after a collection', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'store.db')
  using store = new SqliteObjects({ open: () => openDatabase(path) })
  using other = new SqliteObjects({ open: () => openDatabase(path) })
  const empty = store.bytes

  await other.put([Buffer.alloc(2 ** 21, 'abc')])
  const stored = store.bytes
  using restarted = new SqliteObjects({ open: () => openDatabase(path) })
  await store.collect({ heads: new Set(), live: new Set() })

  expect(stored - empty).toBeGreaterThanOrEqual(2 ** 21)
  expect(restarted.bytes).toBe(store.bytes)
  expect(store.bytes - empty).toBeLessThan(2 ** 18)
})

test('a large object that is put again while it is read comes back whole', async () => {
  await using folder = await temporaryFolder()
  using store = new SqliteObjects({ open: () => openDatabase(join(folder.path, 'store.db')) })
  const bytes = Buffer.alloc(2 ** 21, 'abc')
  const [digest] = await store.put([bytes])

  const reading = store.get(digest!)
  await setImmediate()
  store.rows.putAll([{ digest: digest!, bytes }])

  expect(Buffer.from((await reading)!).equals(bytes)).toBe(true)
})

test('an object that is put again keeps its label', async () => {
  await using folder = await temporaryFolder()
  using store = new SqliteObjects({ open: () => openDatabase(join(folder.path, 'store.db')) })
  const [digest] = await store.put([Buffer.from('a snapshot')], 'snapshot')

  await store.put([Buffer.from('a snapshot')])

  expect(await store.labelled('snapshot')).toEqual([digest])
})

test('a reader of a database that is gone is told to start the daemon', async () => {
  await using folder = await temporaryFolder()
  const file = new DatabaseFile(join(folder.path, 'store.db'), false)

  expect(() => file.open()).toThrow(
    expect.objectContaining({
      code: 'store-failed',
      message: expect.stringMatching(/^Cannot open the database ".*store\.db": it is gone$/),
      fix: expect.stringMatching(/^Start the daemon/),
    }),
  )
})
