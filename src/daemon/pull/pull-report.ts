import type { Clock } from '../../base/async/clock.ts'
import type { Log } from '../../base/log.ts'
import { changeGroups, changesText } from '../../sync/model/changes/skill-changes.ts'
import type { SkillChange } from '../../sync/model/changes/skill-changes.ts'
import { identityOf } from '../../sync/model/decisions/decisions.ts'
import type { Drift, HoldReason, Outcome } from '../../sync/model/outcome.ts'
import { isObjectId, isSameRevision, type ObjectId, type Revision } from '../../sync/model/revision.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { SyncError, isByChoice, mendOf, plainProblemOf } from '../../sync/model/sync-error.ts'
import { tallyOf, UNDECIDED_SKILLS } from '../../sync/model/verdict/skill-states.ts'
import { followedIn } from '../../sync/pull/followed-ref.ts'
import { recordAt } from '../../sync/store/source-records.ts'
import type { SourceRecord, SourceRecords } from '../../sync/store/source-records.ts'
import type { HubReplica } from '../runtime/hub-replica.ts'
import type { PullCounts } from '../runtime/pull-counts.ts'

/** Logs, counts and records the outcomes of pulls. No other module does so. */
export class PullReport {
  readonly #records: SourceRecords
  readonly #clock: Clock
  readonly #log: Log
  readonly #counts: PullCounts
  readonly #last = new Map<SourceId, SourceRecord>()
  /** The redirect target of each source address, as known to this process. */
  readonly #moved = new Map<string, string | undefined>()
  /** The time of this process's last write of each record, on the monotonic clock. */
  readonly #writtenMs = new Map<SourceId, number>()

  readonly #rememberedForMs: number

  private constructor(records: SourceRecords, { clock, log, counts, replica }: ReportParts) {
    // The other processes of a hub go by the record: they are not ready for requests if it is too old.
    this.#rememberedForMs = replica === undefined ? REMEMBERED_FOR_MS : SHARED_FOR_MS
    this.#counts = counts
    this.#records = records
    this.#clock = clock
    this.#log = log
  }

  static async open(records: SourceRecords, sources: readonly SourceId[], parts: ReportParts): Promise<PullReport> {
    const report = new PullReport(records, parts)
    await report.readAgain(sources)
    return report
  }

  /** Reads the records again: the process of the hub that leads has written them. */
  async readAgain(sources: Iterable<SourceId>): Promise<void> {
    for (const id of sources) {
      const record = await this.#records.read(id)
      if (record !== undefined) this.#last.set(id, record)
    }
  }

  /** The record of the source at its present address. Of a record for another address only `followed` remains. */
  recordOf(source: Pick<Source, 'id' | 'url'>): SourceRecord {
    return recordAt(this.#last.get(source.id), source)
  }

  /** Reports that a new revision is about to be fetched; its outcome may take long. */
  resolved(source: Source, { ref, commit }: Revision): void {
    this.#log.debug('source-resolved', { source: source.id, ref, commit })
  }

  /**
   * Records the redirect target of a source's host, or `undefined`, and warns of each address once. Sources with one
   * address share listings, so the target is stored by address.
   */
  found(source: Source, movedTo: string | undefined): void {
    const known = this.#movedTo(source)
    const now = movedTo !== undefined && movedTo.length > MOST_ADDRESS ? undefined : movedTo
    this.#moved.set(source.url, now)
    if (now === undefined || now === known) return
    const message = `Its host redirects to "${now}"; write that address into the configuration`
    this.#log.warn('source-moved', { source: source.id, message })
  }

  #movedTo(source: Source): string | undefined {
    return this.#moved.has(source.url) ? this.#moved.get(source.url) : this.recordOf(source).movedTo
  }

  /** Records the commit that the lock has of the source; `undefined` if the operator lets the source move without it. */
  async locked(source: Source, locked: ObjectId | undefined): Promise<void> {
    const record = this.recordOf(source)
    if (record.locked === locked) return
    this.#last.set(source.id, { ...record, locked })
    await this.#remember(source.id, { ...record, locked })
  }

  /**
   * Reports one outcome. `tookMs` counts from the start of its pull. Resolves with false if the disk did not take its
   * record.
   */
  async outcome(source: Source, outcome: Outcome, tookMs: number): Promise<boolean> {
    this.#write(source, outcome, tookMs)
    this.#counts.add(source.id, outcome, tookMs)
    const now = this.#clock.now().toISOString()
    const previous = this.recordOf(source)
    const movedTo = this.#movedTo(source)
    const record = { ...recordAfter(outcome, previous, now), url: source.url, movedTo }
    this.#last.set(source.id, record)
    // The record is only history: an unchanged poll mostly writes nothing, and a full disk must not stop the next poll.
    const isWell = previous.problem === undefined && record.problem === undefined
    const isNews = isElsewhere(previous.revision, record.revision) || previous.movedTo !== movedTo
    if (outcome.kind === 'unchanged' && isWell && !isNews && this.#isRemembered(source.id)) return true
    return this.#remember(source.id, record)
  }

  /**
   * The recorded age must be roughly correct for other readers of the disk too: the next process, or a reader without
   * the lock.
   */
  #isRemembered(source: SourceId): boolean {
    const at = this.#writtenMs.get(source)
    return at !== undefined && this.#clock.monotonicMs() - at < this.#rememberedForMs
  }

  async #remember(source: SourceId, record: SourceRecord): Promise<boolean> {
    // Set even if the write fails, so that a full disk is not tried at each poll.
    this.#writtenMs.set(source, this.#clock.monotonicMs())
    try {
      await this.#records.write(source, record)
      this.#log.recovery('record-not-written', source)
      return true
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#log.failure('warn', 'record-not-written', { source, code: error.code, message: error.message })
      return false
    }
  }

  #write(source: Source, outcome: Outcome, tookMs: number): void {
    const common = { source: source.id, tookMs: Math.round(tookMs) }
    switch (outcome.kind) {
      case 'failed':
        this.#log.failure('warn', 'pull-failed', { ...common, ...toldOf(outcome.error) })
        return
      case 'waiting':
        this.#log.recovery('pull-failed', source.id)
        this.#log.failure(isByChoice(outcome.reason.code) ? 'info' : 'warn', 'source-waiting', {
          ...common,
          ...outcome.reason,
          commit: outcome.revision?.commit,
          ...mendFor(source, outcome.reason, outcome.revision),
        })
        return
      case 'unchanged':
        this.#logRecovery(source, outcome.drift)
        this.#log.debug('source-unchanged', { ...common, commit: outcome.revision?.commit })
        return
      case 'updated': {
        this.#logRecovery(source, outcome.drift)
        const { seen, served, partly, withheld, links } = tallyOf(outcome.snapshot.skills, UNDECIDED_SKILLS)
        const { ref, commit } = outcome.revision
        const from = outcome.from?.commit
        const kept = outcome.snapshot.skills.filter((skill) => skill.kept !== undefined)
        if (outcome.rewritten === true) this.#log.warn('history-rewritten', { source: source.id, ref, from, commit })
        this.#log.info('source-updated', {
          ...common,
          ref,
          commit,
          ...(from !== commit && { from }),
          seen,
          served,
          partly,
          withheld,
          ...(links > 0 && { links }),
          ...(outcome.changes.length > 0 && { changes: changesText(changeGroups(outcome.changes)) }),
        })
        for (const { path, reason } of outcome.changes.filter(isWithheldNow).slice(0, MOST_TOLD))
          this.#log.warn('skill-withheld', { source: source.id, skill: path, ...reason })
        if (kept.length > 0) this.#log.warn('skills-kept', { source: source.id, commit, ...keptNames(kept) })
        return
      }
      default:
        outcome satisfies never
    }
  }

  #logRecovery({ id }: Source, drift: Drift | undefined): void {
    this.#log.recovery('pull-failed', id)
    this.#log.recovery('source-waiting', id)
    if (drift === undefined) this.#log.recovery('upstream-drifted', id)
    else
      this.#log.failure(isByChoice(drift.error.code) ? 'info' : 'warn', 'upstream-drifted', {
        source: id,
        ...drift.error,
        ...mendFor({ id }, drift.error, drift.newest),
      })
  }
}

/**
 * True if upstream has moved since the last record. A process that reads the record must not mistake one revision for
 * the other.
 */
function isElsewhere(before: Revision | undefined, now: Revision | undefined): boolean {
  return before === undefined || now === undefined ? before !== now : !isSameRevision(before, now)
}

/** The parts that a report uses. */
export interface ReportParts {
  readonly clock: Clock
  readonly log: Log
  readonly counts: PullCounts
  readonly replica?: HubReplica | undefined
}

/** The record of a source after this outcome. */
function recordAfter(outcome: Outcome, previous: SourceRecord, now: string): SourceRecord {
  const looked = { ...previous, lastAttempt: now }
  switch (outcome.kind) {
    case 'failed':
      return { ...looked, problem: problemOf(plainProblemOf(outcome.error)) }
    case 'waiting':
      if (outcome.revision === undefined) return { ...previous, problem: problemOf(outcome.reason) }
      return { ...looked, lastSuccess: now, problem: problemOf(outcome.reason), revision: outcome.revision }
    case 'unchanged':
      if (outcome.revision === undefined) return { ...previous, problem: undefined }
      return {
        ...looked,
        lastSuccess: now,
        problem: problemOf(outcome.drift?.error),
        revision: outcome.revision,
        ...(outcome.followed !== undefined && { followed: outcome.followed }),
      }
    case 'updated': {
      // Status and decisions concern the upstream revision, not the one that is served instead.
      const revision = outcome.drift?.newest ?? outcome.seen
      const isAnswer = revision !== undefined || outcome.isFromStore !== true
      return {
        ...looked,
        lastSuccess: isAnswer ? now : previous.lastSuccess,
        problem: problemOf(outcome.drift?.error),
        revision,
        // A bare commit id is that of a hold or a rollback: no ref led there.
        ...(!isObjectId(outcome.revision.ref) && { followed: followedIn(outcome.snapshot) }),
      }
    }
    default:
      return outcome satisfies never
  }
}

function problemOf(error: HoldReason | undefined): SourceRecord['problem'] {
  return error && plainProblemOf(error)
}

/** True for a skill that was served, or is new, and that must not be served. */
function isWithheldNow({ change, reason }: SkillChange): boolean {
  return change === 'withheld' && reason !== undefined
}

/** The others are in the `changes` of `source-updated`. */
const MOST_TOLD = 10

/** The fix for a revision that waits; for everything else, the code has one. */
function mendFor({ id }: Pick<Source, 'id'>, reason: HoldReason, waiting: Revision | undefined) {
  if (waiting === undefined || isByChoice(reason.code)) return {}
  return { fix: mendOf(reason, { source: id, ...identityOf(waiting) }) }
}

function toldOf({ code, message, cause }: SyncError) {
  return { code, message, cause: cause instanceof Error ? cause : undefined }
}

const REMEMBERED_FOR_MS = 3_600_000
const SHARED_FOR_MS = 60_000
/** A host can send an address of any length; no real one is longer. */
const MOST_ADDRESS = 2_000

/** The number of earlier versions that are served, and the first of them. */
function keptNames(kept: readonly Skill[]): { readonly skills: number; readonly first: string } {
  const first = kept.slice(0, MOST_KEPT_NAMED).map(({ path }) => path)
  return { skills: kept.length, first: first.join(', ') }
}

const MOST_KEPT_NAMED = 8
