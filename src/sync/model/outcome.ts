import type { Held } from './generation.ts'
import type { Revision } from './revision.ts'
import type { Snapshot } from './snapshot.ts'
import type { SyncError } from './sync-error.ts'

/** How a pull ended. */
export type Outcome =
  | { readonly kind: 'unchanged'; readonly revision: Revision }
  | { readonly kind: 'updated'; readonly revision: Revision; readonly snapshot: Snapshot; readonly held: Held }
  | { readonly kind: 'failed'; readonly error: SyncError }
