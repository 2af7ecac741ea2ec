import { existsSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { shellWord } from '../../../base/text/shell-word.ts'
import { Damaged, SyncError } from '../../model/sync-error.ts'
import { makePrivate, removeAll, syncFolder, syncPath, temporaryIn, writeWhole } from '../files/atomic.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { fileNamesIn, makeFolder, whileHalfRestored } from '../files/state-folder.ts'
import { openDatabaseReadOnly, runOnDatabase } from '../objects/database.ts'
import { SqliteObjects } from '../objects/sqlite-objects.ts'
import type { Store } from '../store.ts'

/** The content of a backup. */
export interface BackedUp {
  readonly objects: number
  readonly generation: number | undefined
  readonly bytes: number
}

/**
 * Writes the objects and heads as of one moment, and the files of `LocalFile`, into one file, which is a SQLite database.
 * The store may be in use meanwhile. The file is complete or absent.
 */
export async function backUp(store: Store, file: string): Promise<BackedUp> {
  const draft = temporaryIn(dirname(file))
  try {
    const local = await readLocalFiles(store.folder.path)
    await makePrivate(draft).catch(cannot(`write the backup "${file}"`, fixesFor(dirname(file))))
    await store.objects.copyTo(draft)
    runOnDatabase(`write the backup "${file}"`, () => addFiles(draft, local))
    const contents = await checkContents(draft, `back up "${store.folder.path}"`, () => {})
    await syncPath(draft).catch(cannot(`sync the backup "${file}"`))
    await rename(draft, file).catch(cannot(`write the backup "${file}"`))
    await syncFolder(dirname(file))
    return contents
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) await removeAll(draft + suffix)
  }
}

/** The next steps for the folder of a backup: it is not the state folder. */
function fixesFor(folder: string): Readonly<Record<string, string>> {
  const another = 'or name a file in another folder'
  const mayNot = `Let this user write to ${shellWord(folder)}, ${another}`
  return {
    ENOENT: existsSync(folder)
      ? `The system makes no files there: name one in another folder`
      : `mkdir -p ${shellWord(folder)}, ${another}`,
    EACCES: mayNot,
    EPERM: mayNot,
    EROFS: `The disk of ${shellWord(folder)} cannot be written to: name a file on another disk`,
    ENOSPC: `Make room on the disk of ${shellWord(folder)} (df -h), ${another}`,
  }
}

/** Reads every object of a backup and compares it with its digest. Throws if one differs, or if it is no backup. */
export async function checkBackup(file: string, onProgress: (done: number) => void): Promise<BackedUp> {
  return checkContents(file, `use the backup "${file}"`, onProgress)
}

async function checkContents(file: string, attempt: string, onProgress: (done: number) => void): Promise<BackedUp> {
  using objects = new SqliteObjects({ open: () => openDatabaseReadOnly(file) })
  const damage = foreignSchema(file) ?? objects.damage()
  if (damage !== undefined) throw new SyncError('store-failed', `Cannot ${attempt}: ${damage}`)
  let [count, bytes] = [0, 0]
  try {
    for await (const object of objects.all()) {
      count += 1
      bytes += object.byteLength
      if (count % SHOWN_EVERY === 0) onProgress(count)
    }
  } catch (cause) {
    if (!(cause instanceof Damaged)) throw cause
    throw new SyncError('store-failed', `Cannot ${attempt}: an object is damaged (${cause.message})`, { cause })
  }
  return { objects: count, generation: (await objects.head())?.sequence, bytes }
}

/** The number of objects for each report of progress. */
const SHOWN_EVERY = 10_000

/**
 * Puts a backup, which was checked, into a state folder that has no generation. A kill leaves the folder as it was, or
 * as one that only another restore opens. Only for the one writer, before it opens the store.
 */
export async function restore(file: string, root: string): Promise<void> {
  const draft = temporaryIn(root)
  try {
    const local = runOnDatabase(`read the backup "${file}"`, () => filesIn(file))
    await copyObjects(file, draft)
    await whileHalfRestored(root, async () => {
      for (const suffix of ['-wal', '-shm']) await removeAll(join(root, `store.db${suffix}`))
      await rename(draft, join(root, 'store.db')).catch(cannot(`restore "${file}"`))
      await replaceLocalFiles(root, local)
    })
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) await removeAll(draft + suffix)
  }
}

async function copyObjects(file: string, draft: string): Promise<void> {
  using objects = new SqliteObjects({ open: () => openDatabaseReadOnly(file) })
  await makePrivate(draft).catch(cannot(`restore "${file}"`))
  await objects.copyTo(draft)
  runOnDatabase(`restore "${file}"`, () => {
    using database = new DatabaseSync(draft)
    database.exec('DROP TABLE file; PRAGMA journal_mode = WAL')
  })
  await syncPath(draft).catch(cannot(`restore "${file}"`))
}

/** A backup may come from anywhere: what SQLite would run by itself, such as a trigger, is refused. */
function foreignSchema(file: string): string | undefined {
  return runOnDatabase(`read the backup "${file}"`, () => {
    using database = new DatabaseSync(file, { readOnly: true })
    const entries = database.prepare('SELECT type, name FROM sqlite_schema').all()
    if (!entries.some(({ type, name }) => type === 'table' && name === 'file'))
      return 'it is not a backup; skillsyncd store backup FILE writes one'
    const foreign = entries.find(({ type, name }) => !SCHEMA_NAMES.has(`${String(type)} ${String(name)}`))
    return foreign && `it has a ${String(foreign['type'])} "${String(foreign['name'])}", which no backup has`
  })
}

/** The tables of the store and of a backup, and the indexes that they bring. */
const SCHEMA_NAMES: ReadonlySet<string> = new Set([
  ...['object', 'piece', 'head', 'record', 'file', 'sqlite_sequence'].map((name) => `table ${name}`),
  ...['object_label', 'record_at', 'record_total', 'record_leaving'].map((name) => `index ${name}`),
  ...['object', 'piece', 'file'].map((name) => `index sqlite_autoindex_${name}_1`),
])

/** One file that can be copied: without a WAL beside it. */
function addFiles(path: string, files: readonly LocalFile[]): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = DELETE; CREATE TABLE file (path TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT')
  const put = database.prepare('INSERT INTO file (path, bytes) VALUES (?, ?)')
  for (const { path: name, bytes } of files) put.run(name, bytes)
}

function filesIn(path: string): LocalFile[] {
  using database = new DatabaseSync(path, { readOnly: true })
  const rows = database.prepare('SELECT path, bytes FROM file').all()
  return rows.flatMap(({ path: name, bytes }) =>
    typeof name === 'string' && isLocalFile(name) && bytes instanceof Uint8Array ? [{ path: name, bytes }] : [],
  )
}

/** A file of the state folder beside the database, by its path in the folder. */
interface LocalFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * The files beside the database: the operator's decisions and the records of this machine, which a person can read.
 * Everything else in the folder can be fetched or made again.
 */
const FILES = [
  'decisions.json',
  'decisions-copy.json',
  'generations/decisions.json',
  'tokens.json',
  'links.json',
  'current',
] as const

/** True for the path of a file that a backup may have: nothing else is ever written by a restore. */
export function isLocalFile(path: string): boolean {
  return FILES.some((file) => file === path) || /^(?:sources|scans|logs)\/[a-z0-9][a-z0-9._-]*\.jsonl?$/.test(path)
}

/** Reads the files of a state folder that a backup has beside the objects. */
async function readLocalFiles(root: string): Promise<readonly LocalFile[]> {
  const files: LocalFile[] = []
  for (const path of await namesIn(root)) {
    const file = join(root, path)
    const bytes = await unlessAbsent(readFile(file)).catch(cannot(`read "${file}"`))
    if (bytes !== undefined) files.push({ path, bytes })
  }
  return files
}

/** Returns the paths that there may be files at. */
async function namesIn(root: string): Promise<readonly string[]> {
  const records = (await fileNamesIn(join(root, 'sources'))).map((name) => `sources/${name}`)
  const scans = (await fileNamesIn(join(root, 'scans'))).map((name) => `scans/${name}`)
  const logs = (await fileNamesIn(join(root, 'logs'))).map((name) => `logs/${name}`)
  return [...FILES, ...records, ...scans, ...logs].filter(isLocalFile)
}

/** Puts these files in the place of those that are there. Each is written whole. */
async function replaceLocalFiles(root: string, files: readonly LocalFile[]): Promise<void> {
  const wanted = new Set(files.map(({ path }) => path))
  for (const path of await namesIn(root)) if (!wanted.has(path)) await removeAll(join(root, path))
  for (const { path, bytes } of files) {
    makeFolder(dirname(join(root, path)), 0o700)
    await writeWhole(join(root, path), bytes)
  }
}
