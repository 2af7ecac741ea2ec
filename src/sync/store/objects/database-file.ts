import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { SyncError } from '../../model/sync-error.ts'
import { runOnDisk } from '../files/disk-error.ts'
import { openDatabase, openExistingDatabase } from './database.ts'

/** The file of a database, which can be removed or replaced while it is open. */
export class DatabaseFile {
  readonly path: string
  readonly #isWriter: boolean
  #opened: number | undefined

  /** The writer creates the file if it is absent. */
  constructor(path: string, isWriter: boolean) {
    this.path = path
    this.#isWriter = isWriter
  }

  open(): DatabaseSync {
    const database = this.#isWriter ? openDatabase(this.path) : openExistingDatabase(this.path)
    if (database === undefined)
      throw new SyncError('store-failed', `Cannot open the database "${this.path}": it is gone`)
    this.#opened = inodeOf(this.path)
    return database
  }

  exists(): boolean {
    return inodeOf(this.path) !== undefined
  }

  /** True if the file that was opened is still the one at the path. */
  isInPlace(): boolean {
    return this.#opened !== undefined && inodeOf(this.path) === this.#opened
  }

  /** Renames the file, with what SQLite keeps beside it, and returns its new path. Of earlier ones none stays. */
  moveAside(now: Date): string {
    const folder = dirname(this.path)
    const name = `${basename(this.path)}.damaged`
    const aside = `${this.path}.damaged-${now.toISOString().replaceAll(/[:.]/g, '-')}`
    runOnDisk(`move "${this.path}" aside`, () => {
      for (const old of readdirSync(folder)) if (old.startsWith(name)) rmSync(join(folder, old), { force: true })
      for (const suffix of ['', '-wal', '-shm'])
        if (inodeOf(this.path + suffix) !== undefined) renameSync(this.path + suffix, aside + suffix)
    })
    return aside
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}
