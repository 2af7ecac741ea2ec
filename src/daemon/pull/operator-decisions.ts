import type { Registry } from '../../serve/registry.ts'
import { pendingPaths } from '../../sync/model/decisions/approvals.ts'
import { withRingHold } from '../../sync/model/decisions/decisions.ts'
import { isObjectId, type Revision } from '../../sync/model/revision.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isAwaitingDecision } from '../../sync/model/sync-error.ts'
import { configuredIn } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { disablementIn, keptOut, type Disablement } from '../status/disablement.ts'
import { decisionAfter, expectWaiting, isWaiting } from './decide.ts'
import type { DecisionDetails, HeldRevision, Situation, Verb } from './decide.ts'
import { followDisabled } from './load-decisions.ts'
import type { PullReport } from './pull-report.ts'
import type { Puller } from './puller.ts'
import { heldAtCommit } from './rollback.ts'
import type { ServedCatalog } from './served-catalog.ts'

export interface OperatorDecisionsParts extends Pick<DaemonContext, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly registry: Registry
  readonly served: ServedCatalog
  readonly report: PullReport
  readonly puller: Puller
}

/** The operator's decisions about sources and their skills, each on the disk before it has an effect. */
export class OperatorDecisions {
  readonly #parts: OperatorDecisionsParts

  constructor(parts: OperatorDecisionsParts) {
    this.#parts = parts
  }

  /** The revision of a source that waits for a decision, and the reason. Throws if nothing waits. */
  waiting(id: SourceId, verb: 'approve' | 'reject'): HeldRevision {
    const { config, store, report } = this.#parts
    const revision = expectWaiting(this.#situation(id), store.decisions.of(id).frozen, verb)
    const { condition } = report.recordOf(configuredIn(config, id).source)
    if (condition === undefined) throw new TypeError('What waits does so under a condition')
    return { revision, ...condition }
  }

  /** The revision of a source that an operator has to approve or reject; `undefined` if there is none. */
  undecided(id: SourceId): Revision | undefined {
    const { config, store, report } = this.#parts
    const { condition, revision } = report.recordOf(configuredIn(config, id).source)
    if (condition === undefined || !isAwaitingDecision(condition.code)) return undefined
    return store.decisions.knownOf(id).frozen === undefined ? revision : undefined
  }

  /** Stores the decision about a source. The next pull follows it. */
  async decide(id: SourceId, verb: Verb, named: DecisionDetails = {}): Promise<void> {
    const { store, log, puller } = this.#parts
    // A running pull would follow the previous decision.
    await puller.stop(id)
    const commit = verb === 'pin' ? await this.#storedCommit(id, named.commit) : named.commit
    const situation = { ...this.#situation(id), ...named, commit }
    await store.decisions.change(id, (before) => decisionAfter(verb, before, situation))
    const { tag } = named
    const about = { ...(commit !== undefined && { commit }), ...(tag !== undefined && { tag }) }
    log.info('decided', { source: id, decision: verb, ...about })
  }

  /** Keeps a ring from taking anything of a source from now on, or, without a reason, ends that. */
  async holdRing(id: SourceId, ring: string, reason: string | undefined): Promise<void> {
    const { store, log, clock, served } = this.#parts
    const hold = reason === undefined ? undefined : { reason, at: clock.now().toISOString() }
    const before = store.decisions.of(id).ringHolds?.[ring]
    if (hold === undefined && before === undefined)
      throw new OperatorError(
        'nothing-to-decide',
        `The ring "${ring}" does not hold "${id}"; skillsyncd rings shows all`,
      )
    await store.decisions.change(id, (decision) => withRingHold(decision, ring, hold))
    log.info(hold === undefined ? 'ring-released' : 'ring-held', {
      source: id,
      ring,
      ...(reason !== undefined && { reason }),
    })
    // The promotions look again.
    served.serve()
  }

  /** Completes the id of a commit that the store has. Returns the text as it is if it has none. */
  async #storedCommit(id: SourceId, text: string | undefined): Promise<string | undefined> {
    if (text === undefined || isObjectId(text)) return text
    return (await heldAtCommit(this.#parts.store, id, text))?.snapshot.revision.commit ?? text
  }

  /**
   * Takes a skill out of service at once, or brings it back; the skill need not exist. The change is written to disk
   * first: a client that was notified of the removal must not find the skill again after a kill.
   */
  async disable(id: SourceId, path: string, disabled: boolean, sourceOnly = false): Promise<Disablement> {
    const { store, log, served } = this.#parts
    const snapshots = [...served.current, ...served.currentInRings].map(({ snapshot }) => snapshot)
    const before = store.decisions.outOfService
    const isNew = await store.decisions.disable(id, path, disabled, { snapshots, sourceOnly })
    if (isNew && disabled) await followDisabled(snapshots, this.#parts)
    await served.serveInSlices()
    if (isNew) log.info(disabled ? 'skill-disabled' : 'skill-enabled', { source: id, skill: path })
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
  #situation(id: SourceId): Omit<Situation, keyof DecisionDetails> {
    const { config, report, served } = this.#parts
    const { condition, revision } = report.recordOf(configuredIn(config, id).source)
    const waiting = isWaiting(condition?.code) ? revision : undefined
    return {
      source: id,
      served: served.currentOf(id)?.snapshot.revision,
      waiting,
      pending: this.pendingOf(id).length,
    }
  }
}
