import { outdatedIn } from '../../sync/model/decisions/approvals.ts'
import { isAbout, withoutCandidate, withoutApproval } from '../../sync/model/decisions/decisions.ts'
import type { GenerationCause, Trigger } from '../../sync/model/generation.ts'
import type { Outcome, Updated, Waiting } from '../../sync/model/outcome.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { plainProblemOf, SyncError, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import type { BudgetHold } from './budget-hold.ts'
import type { DamagedSources } from './damaged-sources.ts'
import type { ServedCatalog } from './served-catalog.ts'
import { refusalOf } from './trust/serving-policy.ts'

export interface OutcomeApplierParts extends Pick<DaemonContext, 'store' | 'log'> {
  readonly config: Config
  readonly served: ServedCatalog
  readonly damage: DamagedSources
}

/** The pull that had an outcome. */
export interface EndedPull {
  readonly source: Source
  readonly trigger: Trigger
  readonly signal: AbortSignal
  /** The mark of damage with which the pull was planned. */
  readonly mark: number | undefined
  /** The limits of packs, if the pull was to be judged by them. */
  readonly budget?: BudgetHold
}

/** Applies the outcomes of pulls to what is served. */
export class OutcomeApplier {
  readonly #parts: OutcomeApplierParts
  readonly #waiting = new Map<SourceId, Waiting>()

  constructor(parts: OutcomeApplierParts) {
    this.#parts = parts
  }

  /** The held outcome of the last pull of a source, if it needed the fetched content. */
  waitingOf(id: SourceId): Waiting | undefined {
    return this.#waiting.get(id)
  }

  /** Returns the outcome to report: a failure of the disk replaces one that says less. */
  async apply(outcome: Outcome, ended: EndedPull): Promise<Outcome> {
    const { id } = ended.source
    if (outcome.kind === 'held' && NEEDS_CONTENT.has(outcome.reason.code)) this.#waiting.set(id, outcome)
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
        return { kind: 'held', revision: outcome.revision, reason: plainProblemOf(error) }
      // A disk failure must not hide what the operator has to know of the source.
      const saysMore = outcome.kind === 'held' || (outcome.kind === 'failed' && outcome.withdraw !== true)
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
    const admit = async (others: readonly ServedSource[]): Promise<void> => {
      const overrun = budget?.judgeAgain(snapshot, others)
      if (overrun !== undefined) throw overrun
      await this.#revokeOutdated(snapshot)
    }
    await served.publish(new Map([[id, { held, snapshot }]]), cause, { signal, admit })
    log.recovery('served-lost', id)
    damage.clear(id, mark)
    // Decisions about a candidate are settled when the source has moved on. A restored revision has not moved.
    if (from === undefined) await store.decisions.change(id, withoutApproval)
    else if (!isAbout(from, snapshot.revision)) await store.decisions.change(id, withoutCandidate)
  }

  /** Revokes on disk first: after a kill, a skill may wait for approval, but is never served without review. */
  async #revokeOutdated(snapshot: Snapshot): Promise<void> {
    const { store, log } = this.#parts
    const { decisions } = store
    for (const path of outdatedIn(snapshot, decisions.approvals)) {
      await decisions.approve(snapshot.source, path, undefined)
      log.warn('approval-revoked', { source: snapshot.source, skill: path })
    }
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
}

/**
 * Codes of holds that are known only after the candidate was fetched. `budget-exceeded` is not among them: other sources
 * decide about it too, so each pull judges it again.
 */
const NEEDS_CONTENT: ReadonlySet<SyncErrorCode> = new Set(['mass-deletion', 'disabled-returns', 'awaiting-approval'])
