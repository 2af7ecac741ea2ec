import { DecisionStore } from './decisions.ts'
import { GcLeases } from './files/gc-leases.ts'
import { openExistingState, openState, type Scratch, type StateFolder } from './files/state-folder.ts'
import { collect, type Collected, type Collection } from './garbage-collect.ts'
import { GenerationStore } from './generations.ts'
import { SkillLinks } from './skills/skill-links.ts'
import { SkillStore } from './skills/skills.ts'
import { PATH_LIMITS, type PathLimits } from './skills/stored-path.ts'
import { UpstreamFiles } from './skills/upstream-files.ts'
import { SnapshotStore } from './snapshots.ts'
import { SourceRecords } from './source-records.ts'

/** Options that override the defaults of a store. */
export interface StoreOptions {
  readonly pathLimits?: PathLimits
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs?: () => number
}

/**
 * The state that survives a restart. Any number of processes read it, one writes it. It writes only inside its folder.
 */
export class Store {
  readonly folder: StateFolder
  readonly skills: SkillStore
  readonly snapshots: SnapshotStore
  readonly generations: GenerationStore
  readonly records: SourceRecords
  readonly decisions: DecisionStore
  readonly upstreams: UpstreamFiles
  readonly links: SkillLinks
  #bytes = 0

  private constructor(folder: StateFolder, options: StoreOptions) {
    const claims = new GcLeases(options.monotonicMs ?? (() => performance.now()))
    this.folder = folder
    this.skills = new SkillStore(folder, claims, options.pathLimits ?? PATH_LIMITS)
    this.snapshots = new SnapshotStore(folder, claims)
    this.generations = new GenerationStore(folder, this.snapshots)
    this.records = new SourceRecords(folder)
    this.decisions = new DecisionStore(folder)
    this.upstreams = new UpstreamFiles(folder)
    this.links = new SkillLinks(folder)
  }

  /** Opens the state folder, and creates it if it does not exist. */
  static async open(statePath: string, options: StoreOptions = {}): Promise<Store> {
    return new Store(await openState(statePath), options)
  }

  /** Opens the state folder read-only. Creates nothing; `undefined` if no process has written there yet. */
  static async openExisting(statePath: string, options: StoreOptions = {}): Promise<Store | undefined> {
    const folder = await openExistingState(statePath)
    return folder && new Store(folder, options)
  }

  /** Creates a temporary folder for one pull, on the disk of the store: what fits there fits into the store. */
  async scratch(): Promise<Scratch> {
    return this.folder.scratch()
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
}
