import type { Mark } from '../../serve/http/mcp/session-store.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { pastCatalog } from '../../sync/pull/generation-catalog.ts'
import type { PastStore } from '../../sync/pull/generation-catalog.ts'
import { GenerationStore } from '../../sync/store/generations.ts'
import type { SharedStore } from '../../sync/store/postgres/shared-store.ts'
import { SnapshotStore } from '../../sync/store/snapshots.ts'
import type { Store } from '../../sync/store/store.ts'

/**
 * Returns the catalog of a mark: from this process' own store, which has the newest generations, or else from the shared
 * one. `undefined` if neither has it, or if the database is away.
 */
export async function markedCatalog(store: Store, shared: SharedStore, mark: Mark): Promise<Catalog | undefined> {
  const own = await catalogIn(async () => store, mark)
  return own ?? (await catalogIn(async () => sharedPast(store, shared), mark))
}

/** The shared generations, with the decisions that this process knows. */
async function sharedPast({ folder, decisions }: Store, shared: SharedStore): Promise<PastStore> {
  const objects = await shared.open()
  const snapshots = new SnapshotStore(objects)
  return { generations: new GenerationStore(folder, objects, snapshots), snapshots, decisions }
}

async function catalogIn(
  open: () => Promise<PastStore>,
  { generation, digest, sources }: Mark,
): Promise<Catalog | undefined> {
  try {
    const catalog = await pastCatalog(await open(), generation, sources)
    return catalog?.digest === digest ? catalog : undefined
  } catch (error) {
    // It counts as collected: its sessions are notified of everything.
    if (error instanceof SyncError) return undefined
    throw error
  }
}
