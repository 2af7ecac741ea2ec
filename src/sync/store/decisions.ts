import { canonicalJson } from '../../base/canonical-json.ts'
import { stepByStep } from '../../base/cooperative.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import { withApproval } from '../decisions/approvals.ts'
import type { Approval, Approvals } from '../decisions/approvals.ts'
import { UNDECIDED } from '../decisions/decisions.ts'
import type { SourceDecision, Decisions } from '../decisions/decisions.ts'
import { enabledAt, disabledEntryOf, following, type FollowedEntries } from '../decisions/disabled-entries.ts'
import { withEntry, type DisabledSkills } from '../decisions/disabled-skills.ts'
import { withNaming } from '../model/named-uris.ts'
import type { Naming, Namings } from '../model/named-uris.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { DecisionFiles, NO_DECISIONS } from './decision-files.ts'
import { textForm } from './decisions-text.ts'
import type { StoredDecisions } from './decisions-text.ts'
import type { StateFolder } from './files/state-folder.ts'

/** Details of a skill that is being disabled or enabled. */
export interface Disabling {
  /** The served snapshots of all sources. */
  readonly snapshots?: readonly Snapshot[]
  readonly sourceOnly?: boolean
}

/** The decisions of the operator. A read failure is an error: a hold must not be forgotten. */
export class DecisionStore {
  readonly #files: DecisionFiles
  #written: StoredDecisions = NO_DECISIONS
  #failure: SyncError | undefined
  #loss: SyncError | undefined
  #damage: SyncError | undefined
  /** The call of `mend` that waits for its turn. */
  #mending: Promise<boolean> | undefined
  #wasRead = false
  readonly #queue = new SerialQueue()

  constructor(state: StateFolder) {
    this.#files = new DecisionFiles(state)
  }

  /** The path of `decisions.json`, which need not exist. */
  get file(): string {
    return this.#files.file
  }

  get copy(): string {
    return this.#files.copy
  }

  /** The path of the record, which is used if the file and its copy are both gone. */
  get record(): string {
    return this.#files.record
  }

  /** The reason why the copy was read instead of the file; `undefined` if the file was readable. */
  get damage(): SyncError | undefined {
    return this.#damage
  }

  /**
   * The error to report if the file and its copy are gone, but the record still has the decisions. The operator must
   * choose what counts.
   */
  get loss(): SyncError | undefined {
    return this.#loss
  }

  /** True if the last attempt to read the decisions failed. */
  get isFailing(): boolean {
    return this.#failure !== undefined
  }

  /** True if this process has never read the decisions successfully: any skill may be disabled. */
  get areUnknown(): boolean {
    return this.isFailing && !this.#wasRead
  }

  /** The decisions per source, as this process last read or wrote them. */
  get known(): Decisions {
    return this.#written.sources
  }

  /** The disabled skills, as this process last read or wrote them. A change produces a new value. */
  get disabled(): DisabledSkills {
    return this.#written.disabled
  }

  /** The approved skills of other MCP servers, as this process last read or wrote them. */
  get approvals(): Approvals {
    return this.#written.approvals
  }

  /** The skills of other MCP servers that are named by URI, as this process last read or wrote them. */
  get namings(): Namings {
    return this.#written.namings
  }

  /** Throws if the decisions could not be read: a hold must not be forgotten. */
  of(source: SourceId): SourceDecision {
    if (this.#failure !== undefined) throw this.#failure
    return this.knownOf(source)
  }

  /** The decision about a source, as this process last read or wrote it. */
  knownOf(source: SourceId): SourceDecision {
    return this.known.get(source) ?? UNDECIDED
  }

  /** Reads the decisions. The writer calls this once before anything else, and again after a failure. */
  async read(): Promise<Decisions> {
    return this.#queue.next(async () => this.#read())
  }

  async #read(): Promise<Decisions> {
    try {
      const { written, damage, loss } = await this.#files.read()
      this.#written = written
      this.#damage = damage
      this.#loss = loss
      this.#failure = undefined
      this.#wasRead = true
      return written.sources
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  /** Changes and writes the decision about a source; it is on the disk when this returns. Only for the one writer. */
  async change(source: SourceId, change: (decision: SourceDecision) => SourceDecision): Promise<SourceDecision> {
    return this.#inTurn(async () => {
      const decision = change(this.knownOf(source))
      const after = new Map(this.known).set(source, decision)
      if (Object.keys(decision).length === 0) after.delete(source)
      await this.#write({ ...this.#written, sources: after })
      return decision
    })
  }

  /**
   * Writes that a skill is disabled or enabled; it is on the disk when this returns. Returns true if that is a change.
   * `snapshots` identify the skill; without them, only its path does.
   */
  async disable(
    source: SourceId,
    path: string,
    disabled: boolean,
    { snapshots = [], sourceOnly = false }: Disabling = {},
  ): Promise<boolean> {
    return this.#put('disabled', (before) => {
      if (!disabled) return enabledAt(before, source, path, snapshots)
      if (before.get(source)?.has(path) === true) return before
      return withEntry(before, source, path, disabledEntryOf(source, path, snapshots, sourceOnly))
    })
  }

  /** Adds the details from the snapshots to a skill that an older version disabled by its path alone. */
  async recognise(source: SourceId, path: string, snapshots: readonly Snapshot[]): Promise<void> {
    await this.#put('disabled', (before) => {
      const isUnknown = before.get(source)?.get(path)?.places.length === 0
      return isUnknown ? withEntry(before, source, path, disabledEntryOf(source, path, snapshots)) : before
    })
  }

  /**
   * Updates the places of the disabled skills from the snapshots; they are on the disk when this returns. Returns the
   * new places.
   */
  async follow(snapshots: readonly Snapshot[]): Promise<FollowedEntries['returned']> {
    if (this.disabled.size === 0 || snapshots.length === 0) return []
    return this.#inTurn(async () => {
      const before = this.disabled
      const { disabled, returned } = await stepByStep(following(before, snapshots))
      if (disabled !== before) await this.#write({ ...this.#written, disabled })
      return returned
    })
  }

  /**
   * Writes or withdraws the approval of a skill; it is on the disk when this returns. Returns true if that is a change.
   */
  async approve(source: SourceId, path: string, approval: Approval | undefined): Promise<boolean> {
    return this.#put('approvals', (before) => withApproval(before, source, path, approval))
  }

  /**
   * Writes or removes the naming of a skill by its URI; it is on the disk when this returns. Returns true if that is a
   * change.
   */
  async name(source: SourceId, uri: string, naming: Naming | undefined): Promise<boolean> {
    return this.#put('namings', (before) => withNaming(before, source, uri, naming))
  }

  async #put<Part extends keyof StoredDecisions>(
    part: Part,
    change: (before: StoredDecisions[Part]) => StoredDecisions[Part],
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#written[part]
      const after = change(before)
      if (after === before) return false
      await this.#write({ ...this.#written, [part]: after })
      return true
    })
  }

  /**
   * Rewrites the files that are gone or damaged since. Returns true if one was damaged. Only for the one writer. Calls
   * that wait for their turn are one: each poll makes one.
   */
  async mend(): Promise<boolean> {
    // The decisions are unknown here, because they could not be read. The operator must act first.
    if (this.#failure !== undefined || this.#loss !== undefined) return false
    this.#mending ??= this.#inTurn(async () => {
      this.#mending = undefined
      const isMended = await this.#files.mend(this.#written)
      this.#damage = undefined
      return isMended
    })
    return this.#mending
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queue.next(async () => {
      if (this.#failure !== undefined) throw this.#failure
      return work()
    })
  }

  async #write(after: StoredDecisions): Promise<void> {
    if (canonicalJson(textForm(after)) !== canonicalJson(textForm(this.#written))) {
      await this.#files.write(after)
      this.#loss = undefined
    }
    this.#written = after
  }
}
