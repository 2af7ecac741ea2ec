import { byPerson } from '../../sync/model/decisions/decided.ts'
import { decisionOf, type SourceDecision } from '../../sync/model/decisions/decisions.ts'
import type { SourceRule } from '../../sync/model/decisions/rules.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncError } from '../../sync/model/sync-error.ts'
import { storedIn } from '../../sync/store/skills/stored-path.ts'
import type { Config } from '../config/config.ts'
import { configuredIn } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { Candidates } from './candidates.ts'
import { rulesAfterHold, rulesAfterRollback, type HoldDetails } from './decide.ts'
import { loggedHold } from './operator-decisions.ts'
import type { Puller } from './puller.ts'
import { fullCommit, heldAtCommit, heldInGeneration } from './rollback.ts'
import type { RollbackTarget, RolledBack } from './rollback.ts'
import type { ServedCatalog } from './served-catalog.ts'
import { followedBy, NotLockedError } from './trust/lock-rules.ts'
import { refusalOf } from './trust/serving-policy.ts'

/** The error for a rollback that the lock would undo at the next pull: it must be permanent or refused. */
function broughtBack(config: Config, id: SourceId, refusal: NotLockedError): SyncError {
  const { source } = configuredIn(config, id)
  if (followedBy(config, source) !== undefined) return refusal
  const tries = `skillsyncd hold ${id} COMMIT keeps it there, skillsyncd update ${id} --precise COMMIT moves the lock`
  return new NotLockedError(`${refusal.message}, which the next pull would bring back; ${tries}`)
}

export interface RollbacksParts extends Pick<DaemonContext, 'store' | 'clock' | 'log'> {
  readonly config: Config
  readonly served: ServedCatalog
  readonly puller: Puller
  readonly candidates: Candidates
}

/** Serves content that the operator names at once, and stores that decision. */
export class Rollbacks {
  readonly #config: Config
  readonly #parts: RollbacksParts

  constructor(parts: RollbacksParts) {
    this.#config = parts.config
    this.#parts = parts
  }

  /** Returns the effect on each source. The signal aborts only before the first source is changed. */
  async to(
    { by, ...target }: RollbackTarget & Pick<HoldDetails, 'by'>,
    signal: AbortSignal,
  ): Promise<readonly RolledBack[]> {
    const { store, served, puller, clock } = this.#parts
    using _lease = store.objects.lease()
    const back = await this.#backAt(target, signal)
    if (back.size === 0)
      throw new OperatorError('nothing-to-decide', 'There is nothing to go back to: that is what is served')
    for (const [id, { snapshot }] of back) {
      const refusal = await refusalOf(this.#config, snapshot, store.decisions.of(id))
      if (refusal instanceof NotLockedError) throw broughtBack(this.#config, id, refusal)
      if (refusal !== undefined) throw refusal
    }
    await this.#expectWhole(back, signal)
    const done: RolledBack[] = []
    for (const [id, { snapshot }] of back) {
      // A running pull would publish the revision that is being left.
      await puller.stop(id)
      const from = served.currentOf(id)?.snapshot.revision
      const to = snapshot.revision
      const decider = byPerson(by, clock.now())
      const decided = { ...decider, decision: 'rollback', source: id, commit: to.commit } as const
      const after = (before: readonly SourceRule[]): readonly SourceRule[] =>
        rulesAfterRollback(before, { from, to }, { source: id, decider })
      done.push({ source: id, from, to, decision: await store.decisions.decide(id, after, decided) })
    }
    const source = target.kind === 'commit' ? { source: target.source } : {}
    // A change that must reach the disk is not interrupted.
    await served.publish(back, { action: 'rollback', trigger: 'command', ...source })
    return done
  }

  /**
   * Serves a commit of a source, and keeps the source there. Content that was served before reaches all rings at once,
   * as with a rollback, unless a ring is held; other content passes from ring to ring. The signal aborts only before anything is changed.
   */
  async hold(source: SourceId, commit: string, details: HoldDetails, signal: AbortSignal): Promise<SourceDecision> {
    const { store, served, puller, clock, log } = this.#parts
    using _lease = store.objects.lease()
    const known = await this.#heldAt(source, commit)
    const taken = known ?? (await this.#vet(source, commit, signal))
    const { snapshot } = taken
    const to = snapshot.revision.commit
    const { by, reason } = details
    const decider = byPerson(by, clock.now())
    const after = (before: readonly SourceRule[]): readonly SourceRule[] =>
      rulesAfterHold(before, { source, decider, hold: details, served: snapshot.revision })
    const refusal = await refusalOf(this.#config, snapshot, decisionOf(after([])))
    if (refusal !== undefined) throw refusal
    await this.#expectWhole(new Map([[source, taken]]), signal)
    // A running pull would publish another revision.
    await puller.stop(source)
    const decided = { ...decider, decision: 'hold', source, commit: to, reason } as const
    const decision = await store.decisions.decide(source, after, decided)
    log.info('decided', { source, decision: 'hold', ...loggedHold(decision.hold) })
    if (taken.held.snapshot === served.currentOf(source)?.held.snapshot) return decision
    const isForAllRings = known !== undefined && decision.ringHolds === undefined
    const action = isForAllRings ? 'rollback' : 'update'
    await served.publish(new Map([[source, taken]]), { action, trigger: 'command', source })
    return decision
  }

  /** The content of a source at a commit that may be abbreviated, if it is served or was before. */
  async #heldAt(source: SourceId, commit: string): Promise<ServedSource | undefined> {
    const current = this.#parts.served.currentOf(source)
    if (current?.snapshot.revision.commit === commit) return current
    return heldAtCommit(this.#parts.store, source, commit)
  }

  /** The lease keeps what is found now, however old its generation is. */
  async #expectWhole(back: ReadonlyMap<SourceId, ServedSource>, signal: AbortSignal): Promise<void> {
    for (const { snapshot } of back.values()) await this.#parts.store.skills.expectWhole(storedIn(snapshot))
    signal.throwIfAborted()
  }

  async #backAt(target: RollbackTarget, signal: AbortSignal): Promise<ReadonlyMap<SourceId, ServedSource>> {
    const { store, served } = this.#parts
    const currentOf = (id: SourceId): ServedSource | undefined => served.currentOf(id)
    if (target.kind === 'generation') {
      const sources = this.#config.sources.map(({ source }) => source)
      return heldInGeneration(store, target.number, currentOf, sources)
    }
    const { source, commit } = target
    const held = (await this.#heldAt(source, commit)) ?? (await this.#vet(source, commit, signal))
    return held.held.snapshot === currentOf(source)?.held.snapshot ? new Map() : new Map([[source, held]])
  }

  /** Content that was never served is checked by the gate first, for any caller. */
  async #vet(source: SourceId, commit: string, signal: AbortSignal): Promise<ServedSource> {
    const { candidates } = this.#parts
    const candidate = await candidates.take(source, fullCommit(source, commit), signal)
    const veto = await candidates.vetoOf(candidate, signal)
    // The gate wants an operator to decide, and an operator is deciding.
    if (veto !== undefined && veto.code !== 'awaiting-approval') throw veto
    return candidate
  }
}
