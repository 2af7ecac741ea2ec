import { markedDigestIn } from '../../../serve/mcp/transports/session-store.ts'
import type { NotifiedCatalog } from '../../../serve/mcp/transports/session-store.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { LifecycleRules } from '../../../sync/catalog/operator-lifecycle.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { SharedStore } from '../../../sync/postgres/shared-store.ts'
import { pastCatalog } from '../../../sync/pull/generation-catalog.ts'
import type { PastStore } from '../../../sync/pull/generation-catalog.ts'
import { GenerationStore } from '../../../sync/store/generation-store.ts'
import { SnapshotStore } from '../../../sync/store/snapshot-store.ts'
import type { Store } from '../../../sync/store/store.ts'

/** The stores that have earlier generations. */
export interface MarkedParts {
  readonly store: Store
  readonly shared: SharedStore
  /** The statements of the operator about skills. */
  readonly lifecycles?: LifecycleRules
}

/**
 * Returns the catalog of a mark, or that of a later ring then: from this process' own store, which has the newest generations, or else from the shared
 * one. `undefined` if neither has it, or if the database is away.
 */
export async function markedCatalog(
  { store, shared, lifecycles }: MarkedParts,
  mark: NotifiedCatalog,
  ring?: string,
): Promise<Catalog | undefined> {
  const own = await catalogIn(async () => store, { mark, ring, lifecycles })
  return own ?? (await catalogIn(async () => sharedPast(store, shared), { mark, ring, lifecycles }))
}

/** The shared generations, with the decisions that this process knows. */
async function sharedPast({ folder, decisions }: Store, shared: SharedStore): Promise<PastStore> {
  const objects = await shared.open()
  const snapshots = new SnapshotStore(objects)
  return { generations: new GenerationStore(folder, objects, snapshots), snapshots, decisions }
}

interface MarkedCatalog {
  readonly mark: NotifiedCatalog
  readonly ring: string | undefined
  readonly lifecycles: LifecycleRules | undefined
}

async function catalogIn(
  open: () => Promise<PastStore>,
  { mark, ring, lifecycles }: MarkedCatalog,
): Promise<Catalog | undefined> {
  const { generation: number, sources } = mark
  try {
    const catalog = await pastCatalog(await open(), { number, sources, lifecycles, ring })
    return catalog?.digest === markedDigestIn(mark, ring) ? catalog : undefined
  } catch (error) {
    // It counts as collected: its sessions are notified of everything.
    if (error instanceof SyncError) return undefined
    throw error
  }
}
