import type { LifecycleRules } from '../../../sync/catalog/operator-lifecycle.ts'
import { UNDECIDED, type SourceDecision } from '../../../sync/model/decisions/decisions.ts'
import { isLocked } from '../../../sync/model/decisions/lock.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { proveAgain } from '../../../sync/pull/check-signers.ts'
import type { Admission } from '../../../sync/pull/load-generation.ts'
import type { RingRule } from '../../../sync/pull/rings/promotion.ts'
import type { RingPolicy } from '../../../sync/pull/rings/ring-contents.ts'
import type { Config } from '../../config/config.ts'
import { bindingIn, followedBy, lockRead, NotLockedError } from './lock-rules.ts'
import type { LockRead } from './lock-rules.ts'
import { proverOf } from './signature-policy.ts'

/** The configuration, with the rules of its rings: they decide what is served. */
export type ServedConfig = Config & { readonly rings: readonly RingRule[] }

/**
 * Determines what may be served of a stored state under this configuration: the content that lock and signatures allow.
 * They are read at the first use.
 */
export function admissionOf(config: ServedConfig): Admission {
  const reviewed = config.sources.filter(({ source }) => source.kind === 'mcp' && source.approval === 'required')
  let lock: Promise<LockRead> | undefined
  return {
    async admits(snapshot, decisions) {
      lock ??= lockRead(config)
      const decision = decisions.get(snapshot.source) ?? UNDECIDED
      return (await refusalBy(demandedLock(await lock, config, snapshot), config, snapshot, decision)) === undefined
    },
    reviewed: new Set(reviewed.map(({ source }) => source.id)),
    lifecycles: lifecyclesIn(config),
    rings: config.rings.length === 0 ? undefined : ringPolicyOf(config),
  }
}

/**
 * The rules of the rings. The lock decides what the first ring takes, and later rings take what that one served: an entry
 * that has moved on withdraws nothing from them. Signatures count in each ring, at each start.
 */
function ringPolicyOf(config: ServedConfig): RingPolicy {
  const byId = new Map(config.sources.map((configured) => [configured.source.id, configured]))
  return {
    rings: config.rings,
    // An MCP server has its newest files alone: older content of it cannot be read any more.
    isTogether: (id) => byId.get(id)?.source.kind === 'mcp',
    async admits(snapshot) {
      const configured = byId.get(snapshot.source)
      if (configured === undefined) return false
      try {
        await proveAgain(snapshot, proverOf(configured))
        return true
      } catch (error) {
        if (error instanceof SyncError) return false
        throw error
      }
    },
  }
}

/** The statements of the operator about skills, by source. */
export function lifecyclesIn({ sources }: Pick<Config, 'sources'>): LifecycleRules {
  return new Map(sources.flatMap(({ source: { id, lifecycle } }) => (lifecycle === undefined ? [] : [[id, lifecycle]])))
}

/**
 * The reason why the served content of a source must be withdrawn, whatever a pull finds; `undefined` if it may stay.
 */
export async function revocationOf(
  config: Config,
  snapshot: Snapshot,
  decision: SourceDecision,
): Promise<SyncError | undefined> {
  return refusalBy(demandedLock(await lockRead(config), config, snapshot), config, snapshot, decision)
}

/**
 * The lock, if a setting requires it. Other locks apply with the next pull: until then, the previous content stays
 * served.
 */
function demandedLock(read: LockRead, config: Config, { source: id }: Snapshot): LockRead {
  const configured = config.sources.find(({ source }) => source.id === id)
  return configured !== undefined && followedBy(config, configured.source) !== undefined ? read : undefined
}

/**
 * The reason why a stored snapshot must not be served; `undefined` if it may. An unreadable lock or list of signers
 * allows nothing.
 */
export async function refusalOf(
  config: Config,
  snapshot: Snapshot,
  decision: SourceDecision = UNDECIDED,
): Promise<SyncError | undefined> {
  return refusalBy(await lockRead(config), config, snapshot, decision)
}

async function refusalBy(
  read: LockRead,
  config: Config,
  snapshot: Snapshot,
  decision: SourceDecision,
): Promise<SyncError | undefined> {
  const configured = config.sources.find(({ source }) => source.id === snapshot.source)
  if (configured === undefined) return new NotLockedError(`Cannot serve "${snapshot.source}": it is not configured`)
  try {
    const entry = bindingIn(read, config, configured.source, decision)
    if (entry !== undefined && !isLocked(entry, snapshot)) {
      const at = `${snapshot.revision.commit} of "${snapshot.source}"`
      return new NotLockedError(`Cannot serve ${at}: it is not what the lock has`)
    }
    await proveAgain(snapshot, proverOf(configured))
    return undefined
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}
