import { isLocked } from '../../sync/model/decisions/lock.ts'
import { readLock } from '../../sync/store/lock-file.ts'
import type { Store } from '../../sync/store/store.ts'
import type { Config } from '../config/config.ts'

/**
 * The snapshots that the lock names: the upstream may no longer have them, so they are kept at any age. Throws if the
 * lock cannot be read; then nothing is collected.
 */
export async function keptByLock(store: Store, { lock: file }: Config): Promise<ReadonlySet<string>> {
  const lock = file === undefined ? undefined : await readLock(file)
  const kept = new Set<string>()
  if (lock === undefined) return kept
  for (const digest of await store.snapshots.digests()) {
    const snapshot = await store.snapshots.readWhole(digest)
    const entry = snapshot && lock.sources.get(snapshot.source)
    if (entry !== undefined && snapshot !== undefined && isLocked(entry, snapshot)) kept.add(digest)
  }
  return kept
}
