import type { PackedFile } from '../../../sync/model/skill.ts'
import type { UnpackedFile } from '../../../sync/upstream/archive/archive-members.ts'
import type { ResourceContents } from './contents.ts'
import type { UnreadFile, Unusable } from './file-cache.ts'

/** The contents of an archive, or the reason for a refusal. */
export type ReadArchive =
  | { readonly ok: true; readonly files: readonly PackedFile[]; readonly document: Uint8Array }
  | Unusable

/**
 * The cache of files from archives: each archive is unpacked once for all listings, and its files are never requested
 * one by one.
 */
export interface UnpackedArchives {
  /** Returns the known contents; otherwise fetches and unpacks the archive, if the budgets have room for it. */
  read(archive: UnreadFile, opening: ArchiveOpening): Promise<ReadArchive>
  /** Marks an archive as incomplete, because some of its files are lost: the next listing reads it again. */
  reread(uri: string): void
}

/** Functions that fetch and unpack an archive. */
export interface ArchiveOpening {
  readonly fetch: () => Promise<ResourceContents>
  /** Unpacks at most `mostBytes`. */
  readonly unpack: (archive: Uint8Array, mostBytes: number) => Promise<OpenedArchive>
}

/** `bytes`: the number of unpacked bytes, also for a refused archive. */
export type OpenedArchive =
  | { readonly ok: true; readonly files: readonly UnpackedFile[]; readonly bytes: number }
  | (Unusable & { readonly bytes: number; readonly lacksRoom?: true })
