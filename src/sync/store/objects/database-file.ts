import { accessSync, constants, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { SyncError } from '../../model/sync-error.ts'
import { runOnDisk } from '../files/disk-error.ts'
import { openDatabase, openDatabaseReadOnly, openStillDatabase } from './database.ts'

/** The file of a database, which can be removed or replaced while it is open. */
export class DatabaseFile {
  readonly path: string
  #isWriter: boolean
  /** Changes with each write, if the file was opened as one that no process writes. */
  #opened: string | undefined
  #log: ReadonlyMap<string, number> = new Map()
  #isStill = false

  /** The writer creates the file if it is absent. */
  constructor(path: string, isWriter: boolean) {
    this.path = path
    this.#isWriter = isWriter
  }

  /** Sets the role for the next time that the file is opened. */
  openAs(role: 'writer' | 'reader'): void {
    this.#isWriter = role === 'writer'
  }

  open(): DatabaseSync {
    this.#isStill = false
    if (this.#isWriter) this.#removeLogOfOther()
    const database = this.#isWriter ? openDatabase(this.path) : this.#openExisting()
    this.#opened = this.#mark()
    this.#log = this.#logFiles()
    return database
  }

  /** Removes what SQLite keeps beside a file that was opened before and is gone: it would be read as that of the new one. */
  #removeLogOfOther(): void {
    if (this.#opened === undefined || this.isInPlace()) return
    const there = this.#logFiles()
    for (const [path, inode] of this.#log)
      if (there.get(path) === inode) runOnDisk(`remove "${path}"`, () => rmSync(path, { force: true }))
  }

  /** The inodes of the files of the WAL, by their paths. */
  #logFiles(): ReadonlyMap<string, number> {
    const paths = LOG_SUFFIXES.map((suffix) => this.path + suffix)
    return new Map(paths.map((path) => [path, inodeOf(path) ?? 0]))
  }

  /** A process of another user, or a disk that takes no writes, leaves it read-only. */
  #openExisting(): DatabaseSync {
    if (!this.exists())
      throw new SyncError('store-failed', `Cannot open the database "${this.path}": it is gone`, {
        fix: 'Start the daemon, which makes a new one and fetches everything again',
      })
    if (isWritable(this.path)) return openDatabase(this.path, 'reader')
    this.#isStill = !this.#hasLog()
    return this.#isStill ? openStillDatabase(this.path) : openDatabaseReadOnly(this.path)
  }

  /** The WAL exists while a process has the database open, and after a kill. */
  #hasLog(): boolean {
    return (statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  }

  exists(): boolean {
    return inodeOf(this.path) !== undefined
  }

  /** True if the file that was opened is still the one at the path. */
  isInPlace(): boolean {
    return this.#opened !== undefined && this.#mark() === this.#opened
  }

  /** True if a file of the WAL is not the one that was opened: a new connection fails or reads another state. */
  hasLostLog(): boolean {
    if (this.#isStill || !this.isInPlace()) return false
    const there = this.#logFiles()
    return [...this.#log].some(([path, inode]) => there.get(path) !== inode)
  }

  /** True if the writer has made a new WAL in place of one that was removed. */
  hasOtherLog(): boolean {
    if (!this.hasLostLog()) return false
    const there = this.#logFiles()
    return [...this.#log].some(([path, inode]) => (there.get(path) ?? 0) !== 0 && there.get(path) !== inode)
  }

  #mark(): string | undefined {
    const found = statSync(this.path, { throwIfNoEntry: false, bigint: true })
    if (found === undefined || !this.#isStill) return found && `${found.ino}`
    return `${found.ino} ${found.mtimeNs} ${found.size} ${this.#hasLog()}`
  }

  /** Renames the file, if it is there, with what SQLite keeps beside it. Returns the path to which it goes. */
  moveAside(now: Date): string {
    const aside = `${this.path}.damaged-${now.toISOString().replaceAll(/[:.]/g, '-')}`
    runOnDisk(`move "${this.path}" aside`, () => {
      for (const suffix of ['', ...LOG_SUFFIXES])
        if (inodeOf(this.path + suffix) !== undefined) renameSync(this.path + suffix, aside + suffix)
    })
    return aside
  }

  /** Removes the files that were moved aside, but for the newest. */
  removeOlderAsides(): void {
    const [folder, start] = [dirname(this.path), `${basename(this.path)}.damaged-`]
    runOnDisk(`remove older files beside "${this.path}"`, () => {
      const asides = readdirSync(folder).filter((name) => name.startsWith(start))
      const newest = asides
        .toSorted()
        .at(-1)
        ?.replace(/-(?:wal|shm)$/, '')
      for (const name of asides)
        if (newest === undefined || !name.startsWith(newest)) rmSync(join(folder, name), { force: true })
    })
  }
}

/** The suffixes of the files that SQLite keeps beside a database in WAL mode. */
const LOG_SUFFIXES = ['-wal', '-shm']

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** A WAL takes files beside the database, and room for its index. */
function isWritable(path: string): boolean {
  try {
    for (const place of [path, dirname(path)]) accessSync(place, constants.R_OK | constants.W_OK)
  } catch {
    return false
  }
  const { bavail, bsize, files, ffree } = statfsSync(path)
  return bavail * bsize >= INDEX_BYTES && (files === 0 || ffree >= INDEX_FILES)
}

/** The least that SQLite needs: 32 KiB of shared memory and one page of the WAL; of files the two. */
const INDEX_BYTES = 2 ** 16
const INDEX_FILES = 2
