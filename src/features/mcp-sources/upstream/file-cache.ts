import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import type { ResourceContents } from './contents.ts'

/** A file whose content is known only after reading it. */
export interface UnreadFile {
  readonly uri: string
  /** All statements of the server about it. A change of them means that the file has changed. */
  readonly said: string
  /** `undefined` if the server does not declare it. */
  readonly sha256: string | undefined
  readonly size: number | undefined
}

/** The result of reading it. */
export type CachedFile =
  | { readonly ok: true; readonly sha256: string; readonly size: number; readonly bytes: Uint8Array | undefined }
  | Unusable

/** The reason why a file cannot be served. */
export interface Unusable {
  readonly ok: false
  readonly rule: SkillCode
  readonly why: string
}

/** The cache of files that were read to learn their digests: a file is read once for all listings. */
export interface FileCache {
  /** Returns the known file; otherwise fetches it, if the budgets have room for it. */
  read(file: UnreadFile, wants: 'bytes' | 'digest', fetch: () => Promise<ResourceContents>): Promise<CachedFile>
  /** True if an earlier listing has read the file, and the server's statements about it are unchanged. */
  isKnown(file: UnreadFile): Promise<boolean>
  /** Ends a listing: removes what it did not request, except for files of the skills at these paths. */
  settle(unanswered: ReadonlySet<string>): Promise<void>
}
