import type { BlobStore } from '../store/objects/blob-store.ts'
import type { RequestedListing } from '../upstream/shared-listings.ts'
import type { FetchThreads } from './fetch-threads.ts'
import type { GitHost } from './objects/git-host.ts'
import type { Ref } from './objects/ref-rules.ts'

/** The context of the upstream of a git source. */
export interface GitReach extends GitHost {
  /** Keeps the fetched blobs. */
  readonly blobs: BlobStore
  /** A listing of refs that other sources of the same repository share; `undefined` to list alone. */
  readonly listing?: RequestedListing<Ref>
  /** The threads that fetches run in; `undefined` to start one for each fetch. */
  readonly threads?: FetchThreads
  /** Called with the number of bytes of packs that arrived since its last call. Only for packs over HTTP. */
  readonly onReceived?: (bytes: number) => void
}
