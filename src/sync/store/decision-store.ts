import { isDeepStrictEqual } from 'node:util'
import { runInSlices } from '../../base/async/cooperative.ts'
import { SerialQueue, SharedWork } from '../../base/async/serial-queue.ts'
import type { Approvals } from '../model/decisions/approvals.ts'
import { withDecided, type Decided } from '../model/decisions/decided.ts'
import { decisionOf, isOfSource, UNDECIDED } from '../model/decisions/decisions.ts'
import type { SourceDecision, Decisions } from '../model/decisions/decisions.ts'
import { disabledAt, enabledAt, following, scannedEntries } from '../model/decisions/disabled-entries.ts'
import type { Disabling, FollowedEntries, ScanChange, ScannedContent } from '../model/decisions/disabled-entries.ts'
import { isDecidedAt, isRecall } from '../model/decisions/out-of-service.ts'
import type { OutOfService } from '../model/decisions/out-of-service.ts'
import type { PublishedRecall } from '../model/decisions/published-recall.ts'
import { withList } from '../model/decisions/recalled-skills.ts'
import type { FollowedSource } from '../model/decisions/recalled-skills.ts'
import { rulesInParts, withOut, type RuleParts } from '../model/decisions/rule-parts.ts'
import { isWithdrawal } from '../model/decisions/rules.ts'
import type { RecallRule, Rule, SourceRule } from '../model/decisions/rules.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import type { Namings } from '../model/uris/named-uris.ts'
import { DecisionFiles, SHARED_DECISIONS } from './decision-files.ts'
import { NO_DECISIONS, type StoredDecisions } from './decisions-text.ts'
import type { StateFolder } from './files/state-folder.ts'
import type { LogFollower } from './followed-logs.ts'
import { SharedValue } from './shared-text.ts'
import type { Change, SharedText } from './shared-text.ts'

/**
 * The decisions of the operator. A read failure is an error: a hold must not be forgotten. In a hub of several processes
 * a database has them, and each process changes them; the files are the copy of this one.
 */
export class DecisionStore {
  readonly #files: DecisionFiles
  #value: StoredDecisions = NO_DECISIONS
  #parts: RuleParts = rulesInParts([])
  #failure: SyncError | undefined
  #loss: SyncError | undefined
  #damage: SyncError | undefined
  #wasRead = false
  #shared: SharedValue<StoredDecisions> | undefined
  readonly #queue = new SerialQueue()
  readonly #mending = new SharedWork(async () => this.#mend(), this.#queue)

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

  /** The reason why the last attempt to read the decisions failed. */
  get #unread(): SyncError | undefined {
    return this.#shared === undefined ? this.#failure : this.#shared.failure
  }

  /** True if the last attempt to read the decisions failed. */
  get isFailing(): boolean {
    return this.#unread !== undefined
  }

  /** True if this process has never read the decisions successfully: any skill may be disabled. */
  get areUnknown(): boolean {
    return this.isFailing && !this.#wasRead
  }

  /**
   * The reason why the files lack the newest shared decisions, which are in force; `undefined` if they have them. The
   * files count at a start without the database.
   */
  get unwritten(): SyncError | undefined {
    return this.#shared?.unwritten
  }

  /** The decisions per source, as this process last read or wrote them. */
  get known(): Decisions {
    return this.#parts.sources
  }

  /** The rules that keep skills out of service, in force or not. The same list until one of them changes. */
  get outOfService(): OutOfService {
    return this.#parts.outOfService
  }

  /** The approved skills of other MCP servers. The same list until one of them changes. */
  get approvals(): Approvals {
    return this.#parts.approvals
  }

  /** The skills of other MCP servers that are named by URI, as this process last read or wrote them. */
  get namings(): Namings {
    return this.#parts.namings
  }

  /** Throws if the decisions could not be read: a hold must not be forgotten. */
  of(source: SourceId): SourceDecision {
    if (this.#unread !== undefined) throw this.#unread
    return this.knownOf(source)
  }

  /** The decision about a source, as this process last read or wrote it. */
  knownOf(source: SourceId): SourceDecision {
    return this.known.get(source) ?? UNDECIDED
  }

  /** Keeps the decisions in a text that several processes share, from now on. Called before the first read. */
  shareWith(text: SharedText): void {
    this.#shared ??= new SharedValue(text, SHARED_DECISIONS, {
      read: async () => {
        const { written, isAbsent } = await this.#files.read()
        return isAbsent === true ? undefined : written
      },
      write: async (decisions) => this.#files.restore(decisions),
      hold: (decisions) => this.#hold(decisions),
    })
  }

  /**
   * Takes the newest shared decisions over. Returns true if other processes have changed them since the last call.
   * Throws `store-failed`, and keeps the known ones, if they cannot be reached or are damaged.
   */
  async refresh(): Promise<boolean> {
    return this.#queue.next(async () => this.#shared?.refresh() ?? false)
  }

  /** Reads the decisions. The writer calls this once before anything else, and again after a failure. */
  async read(): Promise<Decisions> {
    return this.#queue.next(async () => {
      if (this.#shared === undefined) await this.#readFiles()
      else await this.#shared.read()
      return this.known
    })
  }

  async #readFiles(): Promise<void> {
    try {
      const { written, damage, loss } = await this.#files.read()
      this.#hold(written)
      this.#damage = damage
      this.#loss = loss
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  #hold(decisions: StoredDecisions): void {
    this.#know(decisions)
    this.#damage = undefined
    this.#loss = undefined
    this.#failure = undefined
    this.#wasRead = true
  }

  #know(decisions: StoredDecisions): void {
    this.#value = decisions
    this.#parts = rulesInParts(decisions.rules, this.#parts)
  }

  /** Changes the decisions; the change is on the disk, or in the shared text, when this returns. */
  async #change<Result>(change: Change<StoredDecisions, Result>): Promise<Result> {
    return this.#queue.next(async () => this.#exchange(change))
  }

  async #exchange<Result>(change: Change<StoredDecisions, Result>): Promise<Result> {
    if (this.#shared !== undefined) return this.#shared.change(change)
    if (this.#failure !== undefined) throw this.#failure
    const { after, result } = await change(this.#value)
    if (after === this.#value) return result
    if (SHARED_DECISIONS.textOf(after) !== SHARED_DECISIONS.textOf(this.#value)) {
      await this.#files.write(after)
      this.#loss = undefined
    }
    this.#know(after)
    return result
  }

  /**
   * Rewrites the files that are gone or damaged since. Returns true if one was damaged. Only for the one writer. Calls
   * that wait for their turn are one: each poll makes one.
   */
  async mend(): Promise<boolean> {
    return this.#mending.run()
  }

  async #mend(): Promise<boolean> {
    if (this.#shared !== undefined) return this.#shared.mend()
    // The decisions are unknown here, because they could not be read. The operator must act first.
    if (this.#failure !== undefined || this.#loss !== undefined) return false
    const isMended = await this.#files.mend(this.#value)
    this.#damage = undefined
    return isMended
  }

  /** The decisions of the last 90 days, oldest first, as this process last read or wrote them. */
  get history(): readonly Decided[] {
    return this.#value.history
  }

  /** Writes decisions to the history that change none of what this stores. */
  async note(decided: readonly Decided[]): Promise<void> {
    await this.#change((before) => ({ after: decided.reduce(withHistory, before), result: undefined }))
  }

  /**
   * Changes and writes the rules; they are on the disk, or in the database, when this returns. `change`: returns the same
   * list if nothing changes. `decided`: a change as the history says it; what a pull does by itself is not in there.
   * Returns true if something changed.
   */
  async change(change: (rules: readonly Rule[]) => readonly Rule[], decided?: Decided): Promise<boolean> {
    return this.#change((before) => {
      const rules = change(before.rules)
      const isNew = rules !== before.rules
      return { after: isNew ? withHistory({ ...before, rules }, decided) : before, result: isNew }
    })
  }

  /** `change` of the rules that keep skills out of service. */
  async changeOut(change: (out: OutOfService) => OutOfService, decided?: Decided): Promise<boolean> {
    return this.change((rules) => withOut(rules, change), decided)
  }

  /** `change` of the rules about one source. Returns what they say then. */
  async decide(
    source: SourceId,
    change: (rules: readonly SourceRule[]) => readonly SourceRule[],
    decided?: Decided,
  ): Promise<SourceDecision> {
    let decision = UNDECIDED
    await this.change((rules) => {
      const isMeant = (rule: Rule): rule is SourceRule => isOfSource(rule) && rule.on.source === source
      const before = rules.filter(isMeant)
      const after = change(before)
      decision = decisionOf(after)
      // Who repeats what a kill cut short decides nothing new.
      if (isDeepStrictEqual(decision, decisionOf(before))) return rules
      return [...rules.filter((rule) => !isMeant(rule)), ...after]
    }, decided)
    return decision
  }

  /** Writes that a skill is disabled. Returns true if that is a change. `snapshots` identify the skill; without them, only its path does. */
  async disable(disabling: Disabling, snapshots: readonly Snapshot[] = []): Promise<boolean> {
    const { source, path: skill, reason, decider } = disabling
    const decided = { ...decider, decision: 'disable', source, skill, reason } as const
    return this.changeOut((out) => disabledAt(out, disabling, snapshots), decided)
  }

  /** Writes that a skill is enabled. Returns true if that is a change. */
  async enable({ source, path, decider }: Disabling, snapshots: readonly Snapshot[] = []): Promise<boolean> {
    const { at } = decider
    const decided = { ...decider, decision: 'enable', source, skill: path } as const
    return this.changeOut((out) => enabledAt(out, { source, path, at }, snapshots), decided)
  }

  /** Writes what a scan takes out of service, and what it clears. Returns true if that is a change. */
  async disableByScan(change: ScanChange): Promise<boolean> {
    return this.#change((before) => {
      const rules = withOut(before.rules, (out) => scannedEntries(out, change))
      const rulesAt = (all: readonly Rule[], { source, path }: ScannedContent): readonly Rule[] =>
        all.filter((rule) => isWithdrawal(rule) && isDecidedAt(rule, source, path))
      const all = [...change.withheld, ...change.cleared]
      const places = new Map(all.map((one) => [`${one.source}/${one.path}`, one]))
      const decided = [...places.values()].flatMap((one): readonly Decided[] => {
        const [was, is] = [rulesAt(before.rules, one), rulesAt(rules, one)]
        const isMore = is.some((rule) => !was.includes(rule))
        // The clearing of one of several contents brings nothing back.
        if (!isMore && (was.length === 0 || is.length > 0)) return []
        const { source, path: skill } = one
        return [{ at: change.at, by: 'scan', decision: isMore ? 'disable' : 'enable', source, skill }]
      })
      const isNew = rules !== before.rules
      return { after: isNew ? decided.reduce(withHistory, { ...before, rules }) : before, result: isNew }
    })
  }

  /**
   * Updates the places of the disabled skills from the snapshots; they are written when this returns. Returns the
   * new places.
   */
  async follow(snapshots: readonly Snapshot[]): Promise<FollowedEntries['returned']> {
    if (this.outOfService.length === 0 || snapshots.length === 0) return []
    const change: Change<StoredDecisions, FollowedEntries['returned']> = async (before) => {
      const { outOfService } = rulesInParts(before.rules, this.#parts)
      const { out, returned } = await runInSlices(following(outOfService, snapshots))
      const after = out === outOfService ? before : { ...before, rules: withOut(before.rules, () => out) }
      return { after, result: returned }
    }
    return this.#queue.next(async () => {
      if (this.#shared === undefined) return this.#exchange(change)
      const { after, result } = await change(this.#value)
      // A change that leaves what is known as it is does not need the database.
      return after === this.#value ? result : this.#exchange(change)
    })
  }

  /** The list of recalls that this source obeyed last of a log; `undefined` if it has obeyed none. */
  obeyed(follower: LogFollower, log: string): string | undefined {
    return this.#value.obeyed.get(obeyedKey(follower, log))
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
  ): Promise<readonly RecallRule[]> {
    return this.#change((before) => {
      const rules = withOut(before.rules, (out) => withList(out, told, source))
      const obeyed = new Map(before.obeyed).set(obeyedKey(follower, source.log), list)
      const active = new Set(recallsIn(before.rules).flatMap(({ id, ended }) => (ended === undefined ? [id] : [])))
      const changed = recallsIn(rules).filter(({ id, ended }) => (ended === undefined) !== active.has(id))
      const after = changed
        .map((recall) => obeyedOne(recall, source.log, at))
        .reduce(withHistory, { ...before, rules, obeyed })
      return { after, result: changed.filter(({ ended }) => ended === undefined) }
    })
  }
}

function withHistory(decisions: StoredDecisions, decided: Decided | undefined): StoredDecisions {
  return decided === undefined ? decisions : { ...decisions, history: withDecided(decisions.history, decided) }
}

/** `log`: that of the hub that is followed; the recall can be of one that this hub follows. `at`: now. */
function obeyedOne({ who: by, ended, on, reason }: RecallRule, log: string, at: string): Decided {
  const who = by === undefined || by === log ? log : `${by}, by ${log}`
  const [place] = on.places
  const about = { source: place?.source, skill: place?.path ?? on.contents[0] }
  return { at, by: 'hub', who, decision: ended === undefined ? 'disable' : 'enable', ...about, reason }
}

function obeyedKey(follower: LogFollower, log: string): string {
  return `${follower} ${log}`
}

function recallsIn(rules: readonly Rule[]): readonly RecallRule[] {
  return rules.filter(isWithdrawal).filter(isRecall)
}
