import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { DaemonContext } from '../runtime/context.ts'

/**
 * Reads the operator's decisions and logs faults in them. If they cannot be read, no source moves: each pull reports
 * the reason. A process that knew them before continues to serve by them. A process that never knew them serves
 * nothing, since any skill may be disabled.
 */
export async function readDecisions({ store, log }: Pick<DaemonContext, 'store' | 'log'>): Promise<void> {
  try {
    await store.decisions.read()
    log.recovery('decisions-not-read', '')
    const { damage, loss } = store.decisions
    if (loss === undefined) log.recovery('decisions-lost', '')
    else log.failure('error', 'decisions-lost', { source: '', code: loss.code, message: loss.message })
    if (damage === undefined) log.recovery('decisions-damaged', '')
    else log.failure('warn', 'decisions-damaged', { source: '', code: damage.code, message: damage.message })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.failure('error', 'decisions-not-read', { source: '', code: error.code, message: error.message })
  }
}

/**
 * Rewrites a damaged file. A disk that refuses will report the failure at the next attempt. Only the writer may call
 * it.
 */
export async function mendDecisions({ store, log }: Pick<DaemonContext, 'store' | 'log'>): Promise<void> {
  try {
    await store.decisions.mend()
    log.recovery('decisions-damaged', '')
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
  }
}

/**
 * Records the identities of disabled skills in these snapshots on disk, before clients are served from them. Logs each
 * place where a disabled skill appears anew. It stays out of service there.
 */
export async function followDisabled(
  snapshots: readonly Snapshot[],
  { store, log }: Pick<DaemonContext, 'store' | 'log'>,
): Promise<void> {
  // Unreadable decisions must not prevent a withdrawal: no source is pulled meanwhile.
  if (store.decisions.isFailing) return
  for (const { at, source, path, by } of await store.decisions.follow(snapshots))
    log.warn('disabled-returns', { source: at.source, skill: at.path, disabled: `${source}/${path}`, by })
}

/** `followDisabled` for what is served already. If the disk refuses, a skill at a new place is known there only by what matched. */
export async function followServedDisabled(
  snapshots: readonly Snapshot[],
  parts: Pick<DaemonContext, 'store' | 'log'>,
): Promise<void> {
  try {
    await followDisabled(snapshots, parts)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    parts.log.warn('disabled-not-followed', { message: error.message })
  }
}
