import type { Workspace } from '../model/blob-store.ts'
import { SyncError } from '../model/sync-error.ts'
import { Checkouts } from './checkouts/checkouts.ts'
import { DecisionStore } from './decisions.ts'
import { openExistingState, openState, type StateFolder } from './files/state-folder.ts'
import { collect, type Collected, type Collection } from './garbage-collect.ts'
import { GenerationStore } from './generations.ts'
import { openDatabase, openExistingDatabase } from './objects/database.ts'
import { LocalBlobs } from './objects/local-blobs.ts'
import { SqliteObjects } from './objects/sqlite-objects.ts'
import { SkillLinks } from './skills/skill-links.ts'
import { SkillStore } from './skills/skills.ts'
import { PATH_LIMITS, type PathLimits } from './skills/stored-path.ts'
import { UpstreamFiles } from './skills/upstream-files.ts'
import { SnapshotStore } from './snapshots.ts'
import { SourceRecords } from './source-records.ts'

/** Options that override the defaults of a store. */
export interface StoreOptions {
  readonly pathLimits?: PathLimits
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
  readonly decisions: DecisionStore
  readonly upstreams: UpstreamFiles
  readonly links: SkillLinks
  #bytes = 0

  private constructor(folder: StateFolder, objects: SqliteObjects, { pathLimits = PATH_LIMITS }: StoreOptions) {
    this.folder = folder
    this.objects = objects
    this.skills = new SkillStore(objects, pathLimits)
    this.checkouts = new Checkouts(folder, this.skills)
    this.snapshots = new SnapshotStore(objects)
    this.generations = new GenerationStore(folder, objects, this.snapshots)
    this.records = new SourceRecords(folder)
    this.decisions = new DecisionStore(folder)
    this.upstreams = new UpstreamFiles(folder)
    this.links = new SkillLinks(folder)
  }

  /** Opens the state folder, and creates it if it does not exist. */
  static async open(statePath: string, options: StoreOptions = {}): Promise<Store> {
    const folder = await openState(statePath)
    if (folder.isEarlier) throw notTakenOver(folder)
    return new Store(folder, new SqliteObjects(openDatabase(folder.database)), options)
  }

  /**
   * Opens the state folder that a process has created, and creates nothing but as its writer. `undefined` if no process
   * has written there yet.
   */
  static async openExisting(statePath: string, options: StoreOptions = {}): Promise<Store | undefined> {
    const folder = await openExistingState(statePath)
    if (folder?.isEarlier === true && options.isWriter !== true) throw notTakenOver(folder)
    const open = options.isWriter === true ? openDatabase : openExistingDatabase
    const database = folder && open(folder.database)
    return folder && database && new Store(folder, new SqliteObjects(database), options)
  }

  /** Creates what one pull writes to. Objects that are stored or found meanwhile outlive every collection. */
  async workspace(): Promise<Workspace & AsyncDisposable> {
    const scratch = await this.folder.scratch()
    const lease = this.objects.lease()
    return {
      scratch: scratch.path,
      blobs: new LocalBlobs(this.folder.database, this.objects.rows),
      async [Symbol.asyncDispose]() {
        lease[Symbol.dispose]()
        await scratch[Symbol.asyncDispose]()
      },
    }
  }

  /** Removes what a killed process left incomplete. Only for the one writer, before it starts anything. */
  async sweep(): Promise<void> {
    await this.folder.sweep()
  }

  /** The bytes that the last garbage collection left. */
  get bytes(): number {
    return this.#bytes
  }

  /** Removes what is no longer in use; `keep` are snapshots that must stay. Only for the one writer. */
  async collect(collection: Collection, signal: AbortSignal): Promise<Collected> {
    const collected = await collect(this, collection, signal)
    this.#bytes = collected.left
    return collected
  }

  [Symbol.dispose](): void {
    this.objects[Symbol.dispose]()
  }
}

function notTakenOver({ path }: StateFolder): SyncError {
  const message = `Cannot read the state folder "${path}": an earlier version wrote it; the daemon takes it over when it starts, and so does skillsyncd sync`
  return new SyncError('store-failed', message)
}
