import { isDeepStrictEqual } from 'node:util'
import { runInSlices } from '../../base/async/cooperative.ts'
import { withApproval } from '../model/decisions/approvals.ts'
import type { Approval, Approvals } from '../model/decisions/approvals.ts'
import { withDecided, type Decided, type Decider } from '../model/decisions/decided.ts'
import { UNDECIDED } from '../model/decisions/decisions.ts'
import type { SourceDecision, Decisions } from '../model/decisions/decisions.ts'
import {
  enabledAt,
  disabledEntryOf,
  following,
  scannedEntries,
  type FollowedEntries,
} from '../model/decisions/disabled-entries.ts'
import { withEntry, type DisabledSkills, type ScanChange } from '../model/decisions/disabled-skills.ts'
import { NOTHING_OUT } from '../model/decisions/out-of-service.ts'
import type { OutOfService } from '../model/decisions/out-of-service.ts'
import type { PublishedRecall } from '../model/decisions/published-recall.ts'
import { withList, withRecall, withRevoked } from '../model/decisions/recalled-skills.ts'
import type { FollowedSource, RecalledSkill, RecalledSkills } from '../model/decisions/recalled-skills.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { SyncError } from '../model/sync-error.ts'
import { withNaming } from '../model/uris/named-uris.ts'
import type { Naming, Namings } from '../model/uris/named-uris.ts'
import type { StoredDecisions } from './decisions-text.ts'
import type { StateFolder } from './files/state-folder.ts'
import type { LogFollower } from './followed-logs.ts'
import { HeldDecisions } from './held-decisions.ts'
import type { ChangedValue, SharedText } from './shared-text.ts'

/** Details of a skill that is being disabled or enabled. */
export interface Disabling {
  /** The served snapshots of all sources. */
  readonly snapshots?: readonly Snapshot[]
  readonly sourceOnly?: boolean
  readonly reason?: string | undefined
  /** For the history. */
  readonly decider?: Decider
}

/**
 * The decisions of the operator. A read failure is an error: a hold must not be forgotten. In a hub of several processes
 * a database has them, and each process changes them; the files are the copy of this one.
 */
export class DecisionStore {
  readonly #held: HeldDecisions
  #out = NOTHING_OUT

  constructor(state: StateFolder) {
    this.#held = new HeldDecisions(state)
  }

  /** The path of `decisions.json`, which need not exist. */
  get file(): string {
    return this.#held.files.file
  }

  get copy(): string {
    return this.#held.files.copy
  }

  /** The path of the record, which is used if the file and its copy are both gone. */
  get record(): string {
    return this.#held.files.record
  }

  /** The reason why the copy was read instead of the file; `undefined` if the file was readable. */
  get damage(): SyncError | undefined {
    return this.#held.damage
  }

  /**
   * The error to report if the file and its copy are gone, but the record still has the decisions. The operator must
   * choose what counts.
   */
  get loss(): SyncError | undefined {
    return this.#held.loss
  }

  /** True if the last attempt to read the decisions failed. */
  get isFailing(): boolean {
    return this.#held.failure !== undefined
  }

  /** True if this process has never read the decisions successfully: any skill may be disabled. */
  get areUnknown(): boolean {
    return this.isFailing && !this.#held.wasRead
  }

  /** The decisions per source, as this process last read or wrote them. */
  get known(): Decisions {
    return this.#held.value.sources
  }

  /** The skills that the operator disabled, as this process last read or wrote them. A change produces a new value. */
  get disabled(): DisabledSkills {
    return this.#held.value.disabled
  }

  /** The recalls, in force or not, as this process last read or wrote them. A change produces a new value. */
  get recalls(): RecalledSkills {
    return this.#held.value.recalls
  }

  /** The decisions that keep skills out of service. The same object until one of them changes. */
  get outOfService(): OutOfService {
    const { disabled, recalls } = this.#held.value
    if (this.#out.disabled !== disabled || this.#out.recalls !== recalls) this.#out = { disabled, recalls }
    return this.#out
  }

  /** The approved skills of other MCP servers, as this process last read or wrote them. */
  get approvals(): Approvals {
    return this.#held.value.approvals
  }

  /** The skills of other MCP servers that are named by URI, as this process last read or wrote them. */
  get namings(): Namings {
    return this.#held.value.namings
  }

  /** Throws if the decisions could not be read: a hold must not be forgotten. */
  of(source: SourceId): SourceDecision {
    if (this.#held.failure !== undefined) throw this.#held.failure
    return this.knownOf(source)
  }

  /** The decision about a source, as this process last read or wrote it. */
  knownOf(source: SourceId): SourceDecision {
    return this.known.get(source) ?? UNDECIDED
  }

  /**
   * The reason why the files lack the newest shared decisions, which are in force; `undefined` if they have them. The
   * files count at a start without the database.
   */
  get unwritten(): SyncError | undefined {
    return this.#held.unwritten
  }

  /** Keeps the decisions in a text that several processes share, from now on. Called before the first read. */
  shareWith(text: SharedText): void {
    this.#held.shareWith(text)
  }

  /**
   * Takes the newest shared decisions over. Returns true if other processes have changed them since the last call.
   * Throws `store-failed`, and keeps the known ones, if they cannot be reached or are damaged.
   */
  async refresh(): Promise<boolean> {
    return this.#held.refresh()
  }

  /** Reads the decisions. The writer calls this once before anything else, and again after a failure. */
  async read(): Promise<Decisions> {
    return (await this.#held.read()).sources
  }

  /** The decisions of the last 90 days, oldest first, as this process last read or wrote them. */
  get history(): readonly Decided[] {
    return this.#held.value.history
  }

  /** Writes decisions to the history that change none of what this stores. */
  async note(decided: readonly Decided[]): Promise<void> {
    await this.#held.change((before) => ({ after: decided.reduce(withHistory, before), result: undefined }))
  }

  /**
   * Changes and writes the decision about a source; it is on the disk, or in the database, when this returns. `decided`: a
   * change as the history says it; what a pull does by itself is not in there.
   */
  async change(
    source: SourceId,
    change: (decision: SourceDecision) => SourceDecision,
    decided?: Decided,
  ): Promise<SourceDecision> {
    return this.#held.change((before) => {
      const known = before.sources.get(source) ?? UNDECIDED
      const decision = change(known)
      const sources = new Map(before.sources).set(source, decision)
      if (Object.keys(decision).length === 0) sources.delete(source)
      // Who repeats what a kill cut short decides nothing new.
      const isNew = !isDeepStrictEqual(decision, known)
      return { after: withHistory({ ...before, sources }, isNew ? decided : undefined), result: decision }
    })
  }

  /**
   * Writes that a skill is disabled or enabled; it is written when this returns. Returns true if that is a change.
   * `snapshots` identify the skill; without them, only its path does.
   */
  async disable(
    source: SourceId,
    path: string,
    disabled: boolean,
    { snapshots = [], sourceOnly = false, reason, decider }: Disabling = {},
  ): Promise<boolean> {
    const decision = disabled ? 'disable' : 'enable'
    const decided = decider && ({ ...decider, decision, source, skill: path, reason } as const)
    return this.#put(
      'disabled',
      (before) => {
        if (!disabled) return enabledAt(before, source, path, snapshots)
        const entry = before.get(source)?.get(path)
        if (entry !== undefined && entry.scans === undefined) return before
        const after = disabledEntryOf(source, path, snapshots, sourceOnly)
        return withEntry(before, source, path, { ...after, ...(reason !== undefined && { reason }) })
      },
      decided,
    )
  }

  /**
   * Writes what a scan takes out of service, by the folders of the skills, and what it clears; it is written when this
   * returns. Returns true if that is a change.
   */
  async disableByScan(source: SourceId, changes: ReadonlyMap<string, ScanChange>, at: string): Promise<boolean> {
    return this.#held.change((before) => {
      const disabled = scannedEntries(before.disabled, source, changes)
      if (disabled === before.disabled) return { after: before, result: false }
      let after = { ...before, disabled }
      for (const skill of changes.keys()) {
        const [was, is] = [before, after].map((one) => one.disabled.get(source)?.get(skill))
        const known = new Set(was?.scans?.map(({ digest }) => digest))
        const isMore = is?.scans?.some(({ digest }) => !known.has(digest)) === true
        // The clearing of one of several contents brings nothing back.
        if (!isMore && (was === undefined || is !== undefined)) continue
        after = withHistory(after, { at, by: 'scan', decision: isMore ? 'disable' : 'enable', source, skill })
      }
      return { after, result: true }
    })
  }

  /**
   * Updates the places of the disabled skills from the snapshots; they are written when this returns. Returns the
   * new places.
   */
  async follow(snapshots: readonly Snapshot[]): Promise<FollowedEntries['returned']> {
    if ((this.disabled.size === 0 && this.recalls.size === 0) || snapshots.length === 0) return []
    const change = async (
      before: StoredDecisions,
    ): Promise<ChangedValue<StoredDecisions, FollowedEntries['returned']>> => {
      const { out, returned } = await runInSlices(following(before, snapshots))
      const { disabled, recalls } = out
      const isSame = disabled === before.disabled && recalls === before.recalls
      return { after: isSame ? before : { ...before, disabled, recalls }, result: returned }
    }
    return this.#held.follow(change)
  }

  /** Writes a recall; it is written when this returns. Returns false if there are too many, and writes nothing. */
  async recall(recall: RecalledSkill, decided: Decided): Promise<boolean> {
    return this.#held.change((before) => {
      const recalls = withRecall(before.recalls, recall)
      const isRoom = recalls !== undefined
      return { after: isRoom ? withHistory({ ...before, recalls }, decided) : before, result: isRoom }
    })
  }

  /** Ends a recall here; that is written when this returns. Returns true if that is a change. */
  async revoke(id: string, decided: Decided): Promise<boolean> {
    return this.#put(
      'recalls',
      (before) => (before.get(id)?.revoked === undefined ? withRevoked(before, id, decided.at) : before),
      decided,
    )
  }

  /** The list of recalls that this source obeyed last of a log; `undefined` if it has obeyed none. */
  obeyed(follower: LogFollower, log: string): string | undefined {
    return this.#held.value.obeyed.get(obeyedKey(follower, log))
  }

  /**
   * Obeys the list of recalls of a log: it is written when this returns. `list`: the object of the list. Returns the
   * recalls that are in force because of it, and were not before.
   */
  async obey(
    follower: LogFollower,
    {
      list,
      recalls: told,
      at,
      ...source
    }: FollowedSource & { readonly list: string; readonly recalls: readonly PublishedRecall[]; readonly at: string },
  ): Promise<readonly RecalledSkill[]> {
    return this.#held.change((before) => {
      const recalls = withList(before.recalls, told, source)
      const obeyed = new Map(before.obeyed).set(obeyedKey(follower, source.log), list)
      const changed = [...recalls.values()].filter((one) => isInForce(one) !== isInForce(before.recalls.get(one.id)))
      const after = changed
        .map((recall) => obeyedOne(recall, source.log, at))
        .reduce(withHistory, { ...before, recalls, obeyed })
      return { after, result: changed.filter(isInForce) }
    })
  }

  /**
   * Writes or withdraws the approval of a skill; it is written when this returns. Returns true if that is a change.
   */
  async approve(source: SourceId, path: string, approval: Approval | undefined, decided?: Decided): Promise<boolean> {
    return this.#put('approvals', (before) => withApproval(before, source, path, approval), decided)
  }

  /**
   * Writes or removes the naming of a skill by its URI; it is written when this returns. Returns true if that is a
   * change.
   */
  async name(source: SourceId, uri: string, naming: Naming | undefined, decider?: Decider): Promise<boolean> {
    const decision = naming === undefined ? 'remove' : 'add'
    const decided = decider && ({ ...decider, decision, source, skill: uri } as const)
    return this.#put('namings', (before) => withNaming(before, source, uri, naming), decided)
  }

  async #put<Part extends keyof StoredDecisions>(
    part: Part,
    change: (before: StoredDecisions[Part]) => StoredDecisions[Part],
    decided: Decided | undefined,
  ): Promise<boolean> {
    return this.#held.change((before) => {
      const after = change(before[part])
      return after === before[part]
        ? { after: before, result: false }
        : { after: withHistory({ ...before, [part]: after }, decided), result: true }
    })
  }

  /**
   * Rewrites the files that are gone or damaged since. Returns true if one was damaged. Only for the one writer. Calls
   * that wait for their turn are one: each poll makes one.
   */
  async mend(): Promise<boolean> {
    return this.#held.mend()
  }
}

function withHistory(decisions: StoredDecisions, decided: Decided | undefined): StoredDecisions {
  return decided === undefined ? decisions : { ...decisions, history: withDecided(decisions.history, decided) }
}

/** `log`: that of the hub that is followed; the recall can be of one that this hub follows. `at`: now. */
function obeyedOne({ by, revoked, places, contents, reason }: RecalledSkill, log: string, at: string): Decided {
  const who = by === undefined || by === log ? log : `${by}, by ${log}`
  const [place] = places
  const about = { source: place?.source, skill: place?.path ?? contents[0] }
  return { at, by: 'hub', who, decision: revoked === undefined ? 'disable' : 'enable', ...about, reason }
}

function obeyedKey(follower: LogFollower, log: string): string {
  return `${follower} ${log}`
}

function isInForce(recall: RecalledSkill | undefined): boolean {
  return recall !== undefined && recall.revoked === undefined
}
