import { existsSync } from 'node:fs'
import { disposeOnAbort } from '../../base/async/abortable.ts'
import { SyncError } from '../model/sync-error.ts'
import { Checkouts } from './checkouts/checkouts.ts'
import { DecisionStore } from './decision-store.ts'
import { openExistingState, openState, type StateFolder } from './files/state-folder.ts'
import { FollowedLogs } from './followed-logs.ts'
import { collect, type Collected, type Collection } from './garbage-collect.ts'
import { GenerationStore } from './generation-store.ts'
import type { Workspace } from './objects/blob-store.ts'
import { DatabaseFile } from './objects/database-file.ts'
import { isCorruption } from './objects/database.ts'
import { LocalBlobs } from './objects/local-blobs.ts'
import { SqliteObjects } from './objects/sqlite-objects.ts'
import { ScanRecords } from './scan-records.ts'
import { SkillLinks } from './skills/skill-links.ts'
import { SkillStore } from './skills/skill-store.ts'
import { UpstreamFiles } from './skills/upstream-files.ts'
import { SnapshotStore } from './snapshot-store.ts'
import { SourceRecords } from './source-records.ts'

/** Options that override the defaults of a store. */
export interface StoreOptions {
  /** True for the one writer, which creates the database if it is absent. */
  readonly isWriter?: boolean
}

/**
 * The state that survives a restart. Any number of processes read it, one writes it. It writes only inside its folder.
 */
export class Store implements Disposable {
  readonly folder: StateFolder
  readonly objects: SqliteObjects
  readonly skills: SkillStore
  readonly checkouts: Checkouts
  readonly snapshots: SnapshotStore
  readonly generations: GenerationStore
  readonly records: SourceRecords
  readonly scans: ScanRecords
  readonly decisions: DecisionStore
  readonly upstreams: UpstreamFiles
  readonly links: SkillLinks
  readonly followed: FollowedLogs
  readonly #file: DatabaseFile
  #replaced: SyncError | undefined

  private constructor(folder: StateFolder, file: DatabaseFile, objects: SqliteObjects) {
    this.folder = folder
    this.#file = file
    this.objects = objects
    this.upstreams = new UpstreamFiles(folder)
    this.skills = new SkillStore(objects, this.upstreams)
    this.checkouts = new Checkouts(folder, this.skills)
    this.snapshots = new SnapshotStore(objects)
    this.generations = new GenerationStore(folder, objects, this.snapshots)
    this.records = new SourceRecords(folder)
    this.scans = new ScanRecords(folder)
    this.decisions = new DecisionStore(folder)
    this.links = new SkillLinks(folder)
    this.followed = new FollowedLogs(folder)
  }

  /** Opens the state folder, and creates it if it does not exist. */
  static async open(statePath: string): Promise<Store> {
    const folder = await openState(statePath)
    return Store.#openAt(folder, { isWriter: true })
  }

  /**
   * Opens the state folder that a process has created, and creates nothing but as its writer. `undefined` if no process
   * has written there yet.
   */
  static async openExisting(statePath: string, options: StoreOptions = {}): Promise<Store | undefined> {
    const folder = await openExistingState(statePath)
    if (folder === undefined) return undefined
    if (options.isWriter === true) return Store.#openDespiteDamage(folder, options, new Date())
    return existsSync(folder.database) ? Store.#openAt(folder, options) : undefined
  }

  static #openAt(folder: StateFolder, options: StoreOptions): Store {
    const file = new DatabaseFile(folder.database, options.isWriter === true)
    return new Store(folder, file, new SqliteObjects(file))
  }

  /** Moves a damaged database aside, and opens a new one. */
  static #openDespiteDamage(folder: StateFolder, options: StoreOptions, now: Date): Store {
    try {
      return Store.#openAt(folder, options)
    } catch (error) {
      if (!isCorruption(error)) throw error
      const aside = new DatabaseFile(folder.database, true).moveAside(now)
      const store = Store.#openAt(folder, options)
      store.#file.removeOlderAsides()
      store.#replaced = replacedError(folder.database, `it is damaged; it is "${aside}" now`, error)
      return store
    }
  }

  /**
   * Creates what one pull writes to. Objects that are stored or found meanwhile outlive every collection until the
   * signal is aborted: nothing of them may be published from then on.
   */
  async workspace(signal?: AbortSignal): Promise<Workspace & AsyncDisposable> {
    await using opened = new AsyncDisposableStack()
    const { path } = opened.use(await this.folder.scratch())
    // A database that cannot be read leaves no scratch folder.
    const lease = opened.use(this.objects.lease())
    if (signal !== undefined) opened.use(disposeOnAbort(lease, signal))
    const held = opened.move()
    return {
      scratch: path,
      blobs: new LocalBlobs(this.folder.database, this.objects),
      [Symbol.asyncDispose]: async () => held.disposeAsync(),
    }
  }

  /** Removes what a killed process left incomplete. Only for the one writer, before it starts anything. */
  async sweep(): Promise<void> {
    await this.folder.sweep()
  }

  /**
   * Begins with a new database if this one was removed, or if SQLite has found it damaged; a damaged one is moved aside.
   * Opens it again if its WAL was removed.
   * Returns why, or `undefined` if all is well. What people decided is apart from it. Only for the one writer.
   */
  async mendDatabase(now: Date): Promise<SyncError | undefined> {
    const { isCorrupt } = this.objects
    if (this.#file.isInPlace() && !isCorrupt) {
      await this.mendLog()
      return undefined
    }
    await this.folder.expectRight()
    const why = isCorrupt ? `it is damaged; it is "${this.#file.moveAside(now)}" now` : 'it was removed'
    // Until the new one is open, the old one is read on.
    this.objects.reopen()
    this.#file.removeOlderAsides()
    this.#replaced = replacedError(this.#file.path, why)
    return this.#replaced
  }

  /**
   * Opens the database again if its WAL was removed: other processes cannot read it until then. Returns true if it did.
   * Only for the one writer.
   */
  async mendLog(): Promise<boolean> {
    if (this.objects.isCorrupt || !this.#file.hasLostLog()) return false
    await this.folder.expectRight()
    this.objects.reopenForLog()
    return !this.#file.hasLostLog()
  }

  /** The reason why this process began with a new database; `undefined` if it did not. */
  get replaced(): SyncError | undefined {
    return this.#replaced
  }

  /**
   * Opens the database for writing, which was opened while the disk took no writes. If that fails, it can be read as
   * before. Only for the one writer.
   */
  becomeWriter(): void {
    try {
      // Shared memory that is open read-only stays so for the whole process: it is closed first.
      this.objects.reopen(() => this.#file.openAs('writer'))
    } catch (error) {
      this.objects.reopen(() => this.#file.openAs('reader'))
      throw error
    }
  }

  /** Opens the database again if another process has replaced it. */
  followDatabase(): void {
    // A reader makes no WAL: it would be one without the latest writes.
    if (this.#file.hasOtherLog()) this.objects.reopen(() => {})
    else if (!this.#file.isInPlace() && this.#file.exists()) this.objects.reopen()
  }

  /** The bytes of all that is stored now, garbage included. */
  get bytes(): number {
    return this.objects.bytes
  }

  /** Removes what is no longer in use. Only for the one writer. */
  async collect(collection: Collection, signal: AbortSignal): Promise<Collected> {
    return collect(this, collection, signal)
  }

  [Symbol.dispose](): void {
    this.objects[Symbol.dispose]()
  }
}

function replacedError(path: string, why: string, cause?: unknown): SyncError {
  const message = `Cannot read the database "${path}": ${why}, and a new one replaces it`
  return new SyncError('store-failed', message, { cause })
}
