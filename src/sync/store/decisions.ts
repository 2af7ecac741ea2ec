import { withApproval } from '../decisions/approvals.ts'
import type { Approval, Approvals } from '../decisions/approvals.ts'
import { UNDECIDED } from '../decisions/decisions.ts'
import type { Decision, Decisions } from '../decisions/decisions.ts'
import { enabledAt, entryOf, following, type Followed } from '../decisions/disabled-entries.ts'
import { withEntry, type DisabledSkills } from '../decisions/disabled-skills.ts'
import { withNaming } from '../model/named-uris.ts'
import type { Naming, Namings } from '../model/named-uris.ts'
import { stepByStep } from '../../base/cooperative.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { DecisionFiles, NOTHING } from './decision-files.ts'
import { textForm } from './decisions-text.ts'
import type { Written } from './decisions-text.ts'
import { canonicalJson } from '../../base/canonical-json.ts'
import type { StateFolder } from './files/state-folder.ts'

/** What is known of a skill that is being disabled or enabled. */
export interface Disabling {
  /** What is served of all sources. */
  readonly snapshots?: readonly Snapshot[]
  readonly sourceOnly?: boolean
}

/** What people decided. That it cannot be read is an error: a hold must not be forgotten. */
export class DecisionStore {
  readonly #files: DecisionFiles
  #written: Written = NOTHING
  #failure: SyncError | undefined
  #loss: SyncError | undefined
  #damage: SyncError | undefined
  #wasRead = false
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: StateFolder) {
    this.#files = new DecisionFiles(state)
  }

  /** Where it is, `decisions.json`. */
  get file(): string {
    return this.#files.file
  }

  get copy(): string {
    return this.#files.copy
  }

  /** What was decided, for where both are gone. */
  get record(): string {
    return this.#files.record
  }

  /** Why the file could not be read, where the copy was. */
  get damage(): SyncError | undefined {
    return this.#damage
  }

  /** What is told where the file and its copy are gone, and they are known all the same. A person has to say what is to count. */
  get loss(): SyncError | undefined {
    return this.#loss
  }

  /** Whether they could not be read when that was tried last. */
  get isFailing(): boolean {
    return this.#failure !== undefined
  }

  /** Whether this process could never read them: any skill may be disabled. */
  get areUnknown(): boolean {
    return this.isFailing && !this.#wasRead
  }

  /** As this process last read or wrote them. */
  get known(): Decisions {
    return this.#written.sources
  }

  /** The skills that are disabled, as this process last read or wrote them. Another value whenever they are others. */
  get disabled(): DisabledSkills {
    return this.#written.disabled
  }

  /** The skills of other MCP servers that are approved, likewise. */
  get approvals(): Approvals {
    return this.#written.approvals
  }

  /** The skills of other MCP servers that are named by their URIs, likewise. */
  get namings(): Namings {
    return this.#written.namings
  }

  /** Throws where they could not be read: a hold must not be forgotten. */
  of(source: SourceId): Decision {
    if (this.#failure !== undefined) throw this.#failure
    return this.known.get(source) ?? UNDECIDED
  }

  /** Reads them. For the writer once, before anything else, and again after that failed. */
  async read(): Promise<Decisions> {
    const turn = this.#last.then(async () => this.#read())
    this.#last = turn.catch(() => {}) // The next in turn does not ask how this one went; its own caller is told.
    return turn
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

  /** Writes what becomes of a decision; it is on the disk when this returns. Only for the one writer. */
  async change(source: SourceId, change: (decision: Decision) => Decision): Promise<Decision> {
    return this.#inTurn(async () => {
      const decision = change(this.known.get(source) ?? UNDECIDED)
      const after = new Map(this.known).set(source, decision)
      if (Object.keys(decision).length === 0) after.delete(source)
      await this.#write({ ...this.#written, sources: after })
      return decision
    })
  }

  /**
   * Writes that a skill is disabled, or is no longer; it is on the disk when this returns. Says whether that is new.
   * `snapshots` tell it from others: without them it is known by its path alone.
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
      return withEntry(before, source, path, entryOf(source, path, snapshots, sourceOnly))
    })
  }

  /** Writes what the snapshots tell of a skill that an older version disabled by its path alone. */
  async recognise(source: SourceId, path: string, snapshots: readonly Snapshot[]): Promise<void> {
    await this.#put('disabled', (before) => {
      const isUnknown = before.get(source)?.get(path)?.places.length === 0
      return isUnknown ? withEntry(before, source, path, entryOf(source, path, snapshots)) : before
    })
  }

  /** Writes where disabled skills are in the snapshots; it is on the disk when this returns. Says where they had not been. */
  async follow(snapshots: readonly Snapshot[]): Promise<Followed['returned']> {
    if (this.disabled.size === 0 || snapshots.length === 0) return []
    return this.#inTurn(async () => {
      const before = this.disabled
      const { disabled, returned } = await stepByStep(following(before, snapshots))
      if (disabled !== before) await this.#write({ ...this.#written, disabled })
      return returned
    })
  }

  /** Writes that a skill is approved, or no longer; it is on the disk when this returns. Says whether that is new. */
  async approve(source: SourceId, path: string, approval: Approval | undefined): Promise<boolean> {
    return this.#put('approvals', (before) => withApproval(before, source, path, approval))
  }

  /** Writes that a skill is named by its URI, or no longer; it is on the disk when this returns. Says whether that is new. */
  async name(source: SourceId, uri: string, naming: Naming | undefined): Promise<boolean> {
    return this.#put('namings', (before) => withNaming(before, source, uri, naming))
  }

  async #put<Part extends keyof Written>(
    part: Part,
    change: (before: Written[Part]) => Written[Part],
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#written[part]
      const after = change(before)
      if (after === before) return false
      await this.#write({ ...this.#written, [part]: after })
      return true
    })
  }

  /** Writes them again where the file or its copy is gone or damaged since. Says whether one was. Only for the one writer. */
  async mend(): Promise<boolean> {
    // What was not read is not known here: a person has to look.
    if (this.#failure !== undefined || this.#loss !== undefined) return false
    return this.#inTurn(async () => {
      const isMended = await this.#files.mend(this.#written)
      this.#damage = undefined
      return isMended
    })
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      return work()
    })
    this.#last = turn.catch(() => {}) // The next in turn does not ask how this one went; its own caller is told.
    return turn
  }

  async #write(after: Written): Promise<void> {
    if (canonicalJson(textForm(after)) !== canonicalJson(textForm(this.#written))) {
      await this.#files.write(after)
      this.#loss = undefined
    }
    this.#written = after
  }
}
