import type { PackedFile } from '../../model/skill.ts'
import type { Contents } from './contents.ts'
import type { UnpackedFile } from '../archive/archive-members.ts'
import type { UnreadFile, Unusable } from './file-cache.ts'

/** What an archive was found to hold. */
export type ReadArchive =
  | { readonly ok: true; readonly files: readonly PackedFile[]; readonly document: Uint8Array }
  | Unusable

/** Where the files of archives lie: no look unpacks again what another has unpacked, and no file of one is asked for by itself. */
export interface Archives {
  /** What is in it as it was found before, else as `opening` gives it, if the budgets have room for that. */
  read(archive: UnreadFile, opening: Opening): Promise<ReadArchive>
  /** Something of what was in it is lost: the next look reads it again. */
  reread(uri: string): void
}

/** How an archive is come by. */
export interface Opening {
  readonly fetch: () => Promise<Contents>
  /** Unpacks at most so many bytes. */
  readonly unpack: (archive: Uint8Array, mostBytes: number) => Promise<Opened>
}

/** `bytes`: what was unpacked, of an archive that is refused too. */
export type Opened =
  | { readonly ok: true; readonly files: readonly UnpackedFile[]; readonly bytes: number }
  | (Unusable & { readonly bytes: number; readonly lacksRoom?: true })
