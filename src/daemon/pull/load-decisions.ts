import type { Snapshot } from '../../sync/model/snapshot.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { recognise } from '../../sync/store/recognize-disabled.ts'
import type { Parts } from '../context.ts'

/**
 * Reads what people decided, and tells what is wrong with it. Where it cannot be read, nothing moves: each pull says why. A process
 * that knew it before serves on by that; one that never did serves nothing, since any skill may be disabled.
 */
export async function readDecisions({ store, log }: Pick<Parts, 'store' | 'log'>): Promise<void> {
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

/** Writes again what was damaged. A disk that says no says so again at the next look. For the one writer. */
export async function mendDecisions({ store, log }: Pick<Parts, 'store' | 'log'>): Promise<void> {
  try {
    await store.decisions.mend()
    log.recovery('decisions-damaged', '')
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
  }
}

/**
 * Has disabled skills known by what they are in these snapshots, on the disk before anybody is served from them, and tells where
 * one is that it was not before. It stays out of service there.
 */
export async function followDisabled(
  snapshots: readonly Snapshot[],
  { store, log }: Pick<Parts, 'store' | 'log'>,
): Promise<void> {
  // What cannot be read keeps nothing from being withdrawn: no source is pulled meanwhile.
  if (store.decisions.isFailing) return
  for (const { at, source, path, by } of await store.decisions.follow(snapshots))
    log.warn('disabled-returns', { source: at.source, skill: at.path, disabled: `${source}/${path}`, by })
}

/**
 * At a start: what an older version of this program disabled by its path alone is looked up in what is stored, and known by all that
 * it is from now on. Where the disk refuses, they are known by their paths until the next start.
 */
export async function recogniseDisabled(
  snapshots: readonly Snapshot[],
  { store, log }: Pick<Parts, 'store' | 'log'>,
): Promise<void> {
  if (store.decisions.isFailing) return
  try {
    await recognise(store)
    await followDisabled(snapshots, { store, log })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.warn('disabled-by-path', { message: error.message })
  }
}
