import { UNDECIDED, type SourceDecision } from '../../sync/model/decisions/decisions.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncError } from '../../sync/model/sync-error.ts'
import { storedIn } from '../../sync/store/skills/stored-path.ts'
import type { Config } from '../config/config.ts'
import { configuredIn } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { Candidates } from './candidates.ts'
import { decisionAfterRollback } from './decide.ts'
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
  const tries = `--hold keeps it there, skillsyncd update ${id} --precise COMMIT moves the lock`
  return new NotLockedError(`${refusal.message}, which the next pull would bring back; ${tries}`)
}

export interface RollbacksParts extends Pick<DaemonContext, 'store'> {
  readonly config: Config
  readonly served: ServedCatalog
  readonly puller: Puller
  readonly candidates: Candidates
}

/** Rolls back to previously served content, and stores that decision. */
export class Rollbacks {
  readonly #config: Config
  readonly #parts: RollbacksParts

  constructor(parts: RollbacksParts) {
    this.#config = parts.config
    this.#parts = parts
  }

  /** Returns the effect on each source. The signal aborts only before the first source is changed. */
  async to(target: RollbackTarget, hold: boolean, signal: AbortSignal): Promise<readonly RolledBack[]> {
    const { store, served, puller } = this.#parts
    using _lease = store.objects.lease()
    const back = await this.#backAt(target, signal)
    if (back.size === 0)
      throw new OperatorError('nothing-to-decide', 'There is nothing to go back to: that is what is served')
    for (const [id, { snapshot }] of back) {
      const decision = decisionAfterRollback(UNDECIDED, undefined, snapshot.revision, hold)
      const refusal = await refusalOf(this.#config, snapshot, decision)
      if (refusal instanceof NotLockedError && !hold) throw broughtBack(this.#config, id, refusal)
      if (refusal !== undefined) throw refusal
    }
    // The lease keeps what is found now, however old its generation is.
    for (const { snapshot } of back.values()) await store.skills.expectWhole(storedIn(snapshot))
    signal.throwIfAborted()
    const done: RolledBack[] = []
    for (const [id, { snapshot }] of back) {
      // A running pull would publish the revision that is being left.
      await puller.stop(id)
      const from = served.currentOf(id)?.snapshot.revision
      const to = snapshot.revision
      const after = (before: SourceDecision): SourceDecision => decisionAfterRollback(before, from, to, hold)
      done.push({ source: id, from, to, decision: await store.decisions.change(id, after) })
    }
    const source = target.kind === 'commit' ? { source: target.source } : {}
    // A change that must reach the disk is not interrupted.
    await served.publish(back, { action: 'rollback', trigger: 'command', ...source })
    return done
  }

  async #backAt(target: RollbackTarget, signal: AbortSignal): Promise<ReadonlyMap<SourceId, ServedSource>> {
    const { store, served } = this.#parts
    const currentOf = (id: SourceId): ServedSource | undefined => served.currentOf(id)
    if (target.kind === 'generation') {
      const sources = this.#config.sources.map(({ source }) => source)
      return heldInGeneration(store, target.number, currentOf, sources)
    }
    const { source, commit } = target
    if (currentOf(source)?.snapshot.revision.commit === commit) return new Map()
    const held = (await heldAtCommit(store, source, commit)) ?? (await this.#vet(source, commit, signal))
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
