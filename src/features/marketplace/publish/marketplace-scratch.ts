import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Store } from '../../../sync/store/store.ts'
import type { OpenScratch } from '../marketplace-packfile.ts'
import { ContentUnavailableError } from '../read-whole.ts'

/** Opens files of the state folder for the packs of marketplaces. */
export function marketplaceScratch(store: Store): OpenScratch {
  return async () =>
    store.folder.scratchFile().catch((cause: unknown) => {
      const isRefused = cause instanceof SyncError && cause.code === 'store-failed'
      throw isRefused ? new ContentUnavailableError('The disk accepts no data at the moment', { cause }) : cause
    })
}
