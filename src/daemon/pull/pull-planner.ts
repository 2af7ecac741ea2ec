import type { SourceDecision } from '../../sync/model/decisions/decisions.ts'
import type { Outcome, Waiting } from '../../sync/model/outcome.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { NotSigned, SyncError } from '../../sync/model/sync-error.ts'
import type { PullOrders } from '../../sync/pull/pull-context.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import type { PullReport } from '../status/pull-report.ts'
import type { DamagedSources } from './damaged-sources.ts'
import { readDecisions } from './load-decisions.ts'
import type { ServedCatalog } from './served-catalog.ts'
import type { KnownLock } from './trust/known-lock.ts'
import { followedBy, NotLockedError } from './trust/lock-rules.ts'
import { revocationOf } from './trust/serving-policy.ts'

export interface PullPlannerParts extends Pick<DaemonContext, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly served: ServedCatalog
  readonly report: PullReport
  readonly lock: KnownLock
  readonly damage: DamagedSources
  /** The held outcome of the last pull of a source, if it needed the fetched content. */
  readonly waitingOf: (id: SourceId) => Waiting | undefined
}

/** Plans a pull: from the lock, the decisions of the operator, and the condition of the store. */
export class PullPlanner {
  readonly #parts: PullPlannerParts

  constructor(parts: PullPlannerParts) {
    this.#parts = parts
  }

  /** The orders for a pull, or its outcome if it must not run. */
  async plan(source: Source): Promise<PullOrders | Outcome> {
    const { config, served, report, lock, waitingOf } = this.#parts
    const current = served.currentOf(source.id)
    try {
      await this.#restoreFolders(source)
      const decision = await this.#decisionOf(source.id)
      const locked = await lock.entryOf(source, decision)
      if (decision.paused) return await this.#outcomeWhilePaused(source, current)
      const { offline } = config.mode
      const isDamaged = this.#parts.damage.markOf(source.id) !== undefined
      const waiting = waitingOf(source.id)
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
  async #outcomeWhilePaused({ id }: Source, current: ServedSource | undefined): Promise<Outcome> {
    const { config, store } = this.#parts
    const error = current && (await revocationOf(config, current.snapshot, store.decisions.knownOf(id)))
    if (error instanceof NotLockedError || error instanceof NotSigned) return { kind: 'failed', error, withdraw: true }
    return { kind: 'held', revision: undefined, reason: { code: 'paused', message: `"${id}" is paused` } }
  }
}
