import PQueue from 'p-queue'
import { disposeOnAbort } from '../../base/async/abortable.ts'
import { outdatedIn, withEnded } from '../../sync/model/decisions/approvals.ts'
import { isAbout, withoutApproval, withoutCandidate } from '../../sync/model/decisions/decisions.ts'
import type { SourceDecision, SourceHold } from '../../sync/model/decisions/decisions.ts'
import type { GenerationCause, Trigger } from '../../sync/model/generation.ts'
import type { Outcome, Updated, Waiting } from '../../sync/model/outcome.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource, Source } from '../../sync/model/source.ts'
import { NotSigned, plainProblemOf, SyncError, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { PullContext, PullOrders } from '../../sync/pull/pull-context.ts'
import { pullSource } from '../../sync/pull/pull.ts'
import { isUnwritable } from '../../sync/store/files/disk-error.ts'
import type { Keyring } from '../access/keyring.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import type { HubReplica } from '../runtime/hub-replica.ts'
import { BudgetHold } from './budget-hold.ts'
import type { CollectionTimes, StoreUse } from './collection-times.ts'
import type { DamagedSources } from './damaged-sources.ts'
import { readDecisions } from './load-decisions.ts'
import { cleanOutcome } from './pull-context.ts'
import type { PullReport } from './pull-report.ts'
import { hostOf, leftAlone } from './schedule/host-backoff.ts'
import type { HostBackoff } from './schedule/host-backoff.ts'
import type { PullActivity } from './schedule/pull-activity.ts'
import type { ServedCatalog } from './served-catalog.ts'
import type { KnownLock } from './trust/known-lock.ts'
import { followedBy, NotLockedError } from './trust/lock-rules.ts'
import { unlessRecalled } from './trust/recalled-lock.ts'
import { refusalOf, revocationOf } from './trust/serving-policy.ts'

export interface PullAndServeParts extends Pick<DaemonContext, 'store' | 'log' | 'clock' | 'redactor'> {
  readonly config: Config
  readonly served: ServedCatalog
  readonly activity: PullActivity
  readonly report: PullReport
  readonly keyring: Keyring
  readonly lock: KnownLock
  readonly hosts: HostBackoff
  readonly collections: CollectionTimes
  readonly damage: DamagedSources
  readonly replica: HubReplica | undefined
  /** Fetches the files of an MCP server in advance, if the operator wants them before they are read. */
  readonly advance: {
    /** Fetches what is to replace served files, before `next` is served. */
    prepare(source: McpSource, next: Snapshot, signal: AbortSignal): Promise<void>
    /** Fetches the files of what is served. */
    fetch(source: McpSource, signal: AbortSignal): Promise<void>
  }
  /** Called after each pull of a source of the hub that is followed. It rejects only with an error that ends the process. */
  readonly onHubFollowed: () => Promise<void>
  /** Collects garbage, if that is due. */
  readonly collectIfDue: (signal: AbortSignal) => Promise<void>
}

/** One run in the queue of a source. */
export interface PullRun {
  readonly configured: ConfiguredSource
  readonly trigger: Trigger
  readonly signal: AbortSignal
  /** Creates the context of the pull, with the use of the store that it makes, and the limits that it is judged by. */
  readonly contextOf: (use: StoreUse, budget: BudgetHold) => PullContext
  /** Gives the slot of the run to the next one. */
  readonly release: () => void
}

/** A pull that has an outcome, with the mark of damage that it was planned with. */
interface EndedPull extends Pick<PullRun, 'trigger' | 'signal'> {
  readonly source: Source
  readonly mark: number | undefined
  /** The limits of packs, if the pull was to be judged by them. */
  readonly budget?: BudgetHold
}

/** Brings the content of one source at a time into service. */
export class PullAndServe {
  readonly #parts: PullAndServeParts
  /** The waiting outcome of the last pull of a source, if it needed the fetched content. */
  readonly #waiting = new Map<SourceId, Waiting>()
  /** Many sources may be published at once, and each opens files for its record. */
  readonly #reports = new PQueue({ concurrency: REPORTS_AT_ONCE })

  constructor(parts: PullAndServeParts) {
    this.#parts = parts
  }

  /** Plans a pull, takes a revision, publishes it, reports the outcome, and reacts to it: in this order. */
  async run(run: PullRun): Promise<Outcome> {
    const { source } = run.configured
    const startMs = this.#parts.clock.monotonicMs()
    // Runs even if the source cannot be reached.
    if (source.kind === 'mcp') await this.#parts.served.applyFindings(source, run.trigger)
    // Checked here and not at the request: another source of the host may have received a backoff meanwhile.
    const closedMs = this.#parts.hosts.closedMs(hostOf(source))
    if (closedMs > 0) return { kind: 'failed', error: leftAlone(source.id, closedMs) }
    this.#parts.activity.seen(source.id)
    const orders = await this.#plan(source)
    const ended =
      'kind' in orders ? await this.#publish(orders, this.#endOf(run)) : await this.#takeAndPublish(orders, run)
    const outcome = await this.#reports.add(async () => this.#report(source, ended, startMs))
    await this.#react(source, outcome, run.signal)
    return outcome
  }

  /** The orders for a pull, from the lock, the decisions and the condition of the store; or its outcome if it must not run. */
  async #plan(source: Source): Promise<PullOrders | Outcome> {
    const { config, served, report, lock, damage } = this.#parts
    const current = served.currentOf(source.id)
    try {
      await this.#restoreFolders(source)
      const decision = await this.#decisionOf(source.id)
      const locked = await lock.entryOf(source, decision)
      if (decision.hold?.noPoll) return await this.#outcomeUnpolled(source, current, decision.hold)
      const { offline } = config.mode
      const isDamaged = damage.markOf(source.id) !== undefined
      const waiting = this.#waiting.get(source.id)
      const { followed } = report.recordOf(source)
      const ofLock = locked !== undefined && { locked, isLockDemanded: followedBy(config, source) !== undefined }
      return { decision, offline, waiting, followed, isDamaged, ...ofLock }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { kind: 'failed', error, ...(error instanceof NotLockedError && { withdraw: true }) }
    }
  }

  /**
   * Recreates removed folders of the store, and a database that was removed or is damaged. The content is written again
   * at the end of the pull, and links are restored by this.
   */
  async #restoreFolders({ id }: Source): Promise<void> {
    const { store, clock, log, served, damage } = this.#parts
    const areRemade = await store.folder.remake()
    const why = await store.mendDatabase(clock.now())
    if (why !== undefined) {
      log.error('store-replaced', { code: why.code, message: why.message })
      for (const { held } of served.current) damage.markAnew(held.source)
    }
    if (!areRemade && why === undefined) return
    log.warn('store-mended', { source: id })
    served.serve()
  }

  /** Throws if the decisions cannot be read. The operator may have repaired them since the last attempt. */
  async #decisionOf(id: SourceId): Promise<SourceDecision> {
    const { decisions } = this.#parts.store
    if (decisions.isFailing || decisions.loss !== undefined) {
      await readDecisions(this.#parts)
      this.#parts.served.serve()
    }
    return decisions.of(id)
  }

  /** Checks nothing upstream, but withdraws what the lock or the signatures revoke. */
  async #outcomeUnpolled({ id }: Source, current: ServedSource | undefined, hold: SourceHold): Promise<Outcome> {
    const { config, store } = this.#parts
    const error = current && (await revocationOf(config, current.snapshot, store.decisions.knownOf(id)))
    if (error instanceof NotLockedError || error instanceof NotSigned) return { kind: 'failed', error, withdraw: true }
    const at = hold.commit === undefined ? '' : ` at ${hold.commit}`
    const message = `"${id}" is held${at}, and its host is not asked`
    return { kind: 'waiting', revision: undefined, reason: { code: 'held', message } }
  }

  #endOf({ configured: { source }, trigger, signal }: PullRun): EndedPull {
    return { source, trigger, signal, mark: this.#parts.damage.markOf(source.id) }
  }

  /** Takes a revision into the store, where nothing names it yet, and publishes it. */
  async #takeAndPublish(orders: PullOrders, run: PullRun): Promise<Outcome> {
    const ended = this.#endOf(run)
    using use = this.#parts.collections.begin()
    const budget = new BudgetHold(this.#parts)
    const io = run.contextOf(use, budget)
    // What the pull stores is served by nothing before its generation is published.
    using lease = this.#parts.store.objects.lease()
    // A pull that ignores its abort publishes nothing, and must not keep garbage for as long as it hangs.
    using untilPulled = disposeOnAbort(lease, run.signal)
    const pulled = await this.#take(orders, run, io)
    run.signal.throwIfAborted()
    // A publication that has begun is finished.
    untilPulled[Symbol.dispose]()
    // Those that end while another generation is published share the next one.
    if (pulled.kind === 'updated') run.release()
    const outcome = await this.#publish(pulled, { ...ended, budget })
    // What it replaces may become garbage, also if it was stored before.
    if (outcome.kind === 'updated') use.stored()
    return outcome
  }

  /** Resolves, judges, fetches, surveys, judges again, asks the gate and stores: the steps are in `pullSource`. */
  async #take(orders: PullOrders, { configured, signal }: PullRun, io: PullContext): Promise<Outcome> {
    const { source } = configured
    const { store, served, keyring, advance } = this.#parts
    const current = served.currentOf(source.id)
    const taken = await pullSource({ source, current, orders, io, signal })
    // A recall may have come with this pull.
    const { outOfService } = store.decisions
    const pulled = orders.locked === undefined ? taken : unlessRecalled(taken, current?.snapshot, outOfService)
    await keyring.heard(configured, pulled, signal)
    if (pulled.kind === 'updated' && source.kind === 'mcp') await advance.prepare(source, pulled.snapshot, signal)
    return pulled
  }

  /** Applies an outcome to what is served. Returns the one to report: a failure of the disk replaces one that says less. */
  async #publish(outcome: Outcome, ended: EndedPull): Promise<Outcome> {
    const { id } = ended.source
    if (outcome.kind === 'waiting' && NEEDS_CONTENT.has(outcome.reason.code)) this.#waiting.set(id, outcome)
    else this.#waiting.delete(id)
    try {
      if (outcome.kind === 'updated') await this.#serve(outcome, ended)
      else if (outcome.kind === 'failed' && outcome.withdraw) await this.#withdraw(ended)
      // A failed disk is reported already.
      else if (outcome.kind !== 'failed' || outcome.error.code !== 'store-failed') await this.#mend(ended)
      return outcome
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      if (outcome.kind === 'updated' && error.code === 'budget-exceeded')
        return { kind: 'waiting', revision: outcome.revision, reason: plainProblemOf(error) }
      // A disk failure must not hide what the operator has to know of the source.
      const saysMore = outcome.kind === 'waiting' || (outcome.kind === 'failed' && outcome.withdraw !== true)
      return saysMore ? outcome : { kind: 'failed', error }
    }
  }

  async #serve(updated: Updated, { source: { id }, trigger, signal, mark, budget }: EndedPull): Promise<void> {
    const { config, store, served, log, damage } = this.#parts
    const { held, snapshot, from, rewritten } = updated
    // A gate can take long, so lock and signers are checked again now.
    const refusal = await refusalOf(config, snapshot, store.decisions.knownOf(id))
    if (refusal !== undefined) throw refusal
    const cause: GenerationCause = { action: 'update', trigger, source: id, ...(rewritten && { rewritten }) }
    const admit = async (others: () => readonly ServedSource[]): Promise<void> => {
      const overrun = budget?.judgeAgain(snapshot, others)
      if (overrun !== undefined) throw overrun
      await this.#revokeOutdated(snapshot)
    }
    await served.publish(new Map([[id, { held, snapshot }]]), cause, { signal, admit })
    log.recovery('served-lost', id)
    damage.clear(id, mark)
    // Decisions about a candidate are settled when the source has moved on. A restored revision has not moved.
    if (from === undefined) await store.decisions.decide(id, withoutApproval)
    else if (!isAbout(from, snapshot.revision)) await store.decisions.decide(id, withoutCandidate)
  }

  /** Revokes on disk first: after a kill, a skill may wait for approval, but is never served without review. */
  async #revokeOutdated(snapshot: Snapshot): Promise<void> {
    const { store, log, clock } = this.#parts
    const { decisions } = store
    const ended = clock.now().toISOString()
    const outdated = outdatedIn(snapshot, decisions.approvals)
    if (outdated.length === 0 || !(await decisions.change((rules) => withEnded(rules, snapshot, ended)))) return
    for (const { on } of outdated) log.warn('approval-revoked', { source: snapshot.source, skill: on.path })
  }

  async #withdraw({ source: { id }, trigger, signal }: EndedPull): Promise<void> {
    const { served } = this.#parts
    if (served.currentOf(id) === undefined) return
    await served.publish(new Map([[id, undefined]]), { action: 'withdraw', trigger, source: id }, { signal })
  }

  /** Repairs what the disk has lost since of the served content, and of the decisions. */
  async #mend({ source: { id }, trigger, signal }: EndedPull): Promise<void> {
    const { store, served, log } = this.#parts
    const isMended = await served.mend(id, trigger, signal)
    if ((await store.decisions.mend()) || isMended) log.warn('store-mended', { source: id })
  }

  async #report(source: Source, ended: Outcome, startMs: number): Promise<Outcome> {
    const { clock, redactor, replica, report } = this.#parts
    const outcome = cleanOutcome(ended, redactor)
    const isRecorded = await report.outcome(source, outcome, clock.monotonicMs() - startMs)
    // Another process may have a disk that can be written to.
    if (!isRecorded || (ended.kind === 'failed' && isUnwritable(ended.error))) replica?.stepAside()
    return outcome
  }

  async #react(source: Source, { kind }: Outcome, signal: AbortSignal): Promise<void> {
    const { advance, collectIfDue, onHubFollowed } = this.#parts
    // It is not awaited: it may end this daemon.
    if (source.kind === 'channel' && source.isNamesake === true) void onHubFollowed()
    const isTaken = kind === 'updated' || kind === 'unchanged'
    if (source.kind === 'mcp' && isTaken) await advance.fetch(source, signal)
    await collectIfDue(signal)
  }
}

const REPORTS_AT_ONCE = 16

/**
 * Codes of holds that are known only after the candidate was fetched. `budget-exceeded` is not among them: other sources
 * decide about it too, so each pull judges it again.
 */
const NEEDS_CONTENT: ReadonlySet<SyncErrorCode> = new Set(['mass-deletion', 'disabled-returns', 'awaiting-approval'])
