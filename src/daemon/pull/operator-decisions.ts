import type { Registry } from '../../serve/registry.ts'
import { pendingPaths } from '../../sync/model/decisions/approvals.ts'
import { byPerson } from '../../sync/model/decisions/decided.ts'
import type { SourceDecision, SourceHold } from '../../sync/model/decisions/decisions.ts'
import type { Disabling } from '../../sync/model/decisions/disabled-entries.ts'
import type { Revision } from '../../sync/model/revision.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isAwaitingDecision } from '../../sync/model/sync-error.ts'
import { configuredIn } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { disablementIn, keptOut, type Disablement } from '../status/disablement.ts'
import { expectWaiting, isWaiting, rulesAfter } from './decide.ts'
import type { DecisionDetails, CandidateRevision, Situation, Verb } from './decide.ts'
import { followDisabled } from './load-decisions.ts'
import type { PullReport } from './pull-report.ts'
import type { Puller } from './puller.ts'
import type { ServedCatalog } from './served-catalog.ts'
import type { KnownLock } from './trust/known-lock.ts'

export interface OperatorDecisionsParts extends Pick<DaemonContext, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly registry: Registry
  readonly served: ServedCatalog
  readonly report: PullReport
  readonly lock: KnownLock
  readonly puller: Puller
}

/** The operator's decisions about sources and their skills, each on the disk before it has an effect. */
export class OperatorDecisions {
  readonly #parts: OperatorDecisionsParts

  constructor(parts: OperatorDecisionsParts) {
    this.#parts = parts
  }

  /** The revision of a source that waits for a decision, and the reason. Throws if nothing waits. */
  waiting(id: SourceId, verb: 'approve' | 'reject'): CandidateRevision {
    const { config, store, report } = this.#parts
    const revision = expectWaiting(this.#situation(id), store.decisions.of(id).hold, verb)
    const { problem } = report.recordOf(configuredIn(config, id).source)
    if (problem === undefined) throw new TypeError('What waits has a problem')
    return { revision, ...problem }
  }

  /** The revision of a source that an operator has to approve or reject; `undefined` if there is none. */
  undecided(id: SourceId): Revision | undefined {
    const { config, store, report } = this.#parts
    const { problem, revision } = report.recordOf(configuredIn(config, id).source)
    if (problem === undefined || !isAwaitingDecision(problem.code)) return undefined
    return store.decisions.knownOf(id).hold === undefined ? revision : undefined
  }

  /** Stores the decision about a source, and returns it. The next pull, or promotion, follows it. */
  async decide(id: SourceId, verb: Verb, named: DecisionDetails = {}): Promise<SourceDecision> {
    const { config, store, log, lock, puller, clock, report, served } = this.#parts
    const { commit, tag, hold, by, ring } = named
    // A running pull would follow the previous decision.
    if (ring === undefined) await puller.stop(id)
    const decider = byPerson(by, clock.now())
    await lock.read()
    const situation = { ...this.#situation(id), ...named, decider }
    const decided = { ...decider, decision: verb, source: id, ring, commit, reason: hold?.reason }
    const decision = await store.decisions.decide(id, (before) => rulesAfter(verb, before, situation), decided)
    const held = ring === undefined ? decision.hold : decision.ringHolds?.[ring]
    if (verb === 'release' && ring === undefined && situation.isLockLost)
      await report.locked(configuredIn(config, id).source, undefined)
    log.info('decided', { source: id, ring, decision: verb, commit, tag, ...(verb === 'hold' && loggedHold(held)) })
    // The promotions look again.
    if (ring !== undefined) served.serve()
    return decision
  }

  /**
   * Takes a skill out of service at once, or brings it back; the skill need not exist. The change is written to disk
   * first: a client that was notified of the removal must not find the skill again after a kill.
   */
  async disable(
    id: SourceId,
    path: string,
    disabled: boolean,
    { sourceOnly, reason, by }: DisablingDetails = {},
  ): Promise<Disablement> {
    const { store, log, served, clock } = this.#parts
    const snapshots = [...served.current, ...served.currentInRings].map(({ snapshot }) => snapshot)
    const before = store.decisions.outOfService
    const disabling = { source: id, path, sourceOnly, reason, decider: byPerson(by, clock.now()) }
    const { decisions } = store
    const isNew = await (disabled ? decisions.disable(disabling, snapshots) : decisions.enable(disabling, snapshots))
    if (isNew && disabled) await followDisabled(snapshots, this.#parts)
    await served.serveInSlices()
    if (isNew)
      log.info(disabled ? 'skill-disabled' : 'skill-enabled', {
        source: id,
        skill: path,
        ...(reason !== undefined && { reason }),
      })
    const after = store.decisions.outOfService
    const still = disabled ? undefined : keptOut(snapshots, after, { source: id, path })
    return { isNew, ...disablementIn(snapshots, before, after), ...(still !== undefined && { still }) }
  }

  /** The paths of the skills of a source that wait for approval. */
  pendingOf(id: SourceId): readonly string[] {
    const { config, store, registry } = this.#parts
    const snapshot = registry.catalog.snapshots.find(({ source }) => source === id)
    return pendingPaths(configuredIn(config, id).source, snapshot, store.decisions.approvals)
  }

  /** The facts that a decision about a source depends on, except those that the operator names. */
  #situation(id: SourceId): Omit<Situation, keyof DecisionDetails | 'decider'> {
    const { config, lock, report, served, store } = this.#parts
    const { source } = configuredIn(config, id)
    const { problem, revision } = report.recordOf(source)
    const waiting = isWaiting(problem?.code) ? revision : undefined
    return {
      source: id,
      served: served.currentOf(id)?.snapshot.revision,
      waiting,
      isLockLost: lock.standingOf(source, store.decisions.of(id)).state === 'lost',
      pending: this.pendingOf(id).length,
    }
  }
}

/** The details of a skill that goes out of service. */
export interface DisablingDetails extends Pick<Disabling, 'sourceOnly' | 'reason'> {
  /** The person who decides. */
  readonly by?: string | undefined
}

/** A hold in the log, which has its own time. */
export function loggedHold(hold: Partial<SourceHold> = {}): Omit<Partial<SourceHold>, 'at'> {
  const { at: _logged, ...told } = hold
  return told
}
