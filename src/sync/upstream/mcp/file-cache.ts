import type { FindingRule } from '../../skill-md/finding.ts'
import type { Contents } from './contents.ts'

/** A file of which only reading it tells what it is. */
export interface UnreadFile {
  readonly uri: string
  /** All that the server says of it: once it says something else, the file is another. */
  readonly said: string
  /** Undefined where the server does not say. */
  readonly sha256: string | undefined
  readonly size: number | undefined
}

/** What it was found to be. */
export type ReadFile =
  | { readonly ok: true; readonly sha256: string; readonly size: number; readonly bytes: Uint8Array | undefined }
  | Unusable

/** Why it is nothing that can be served. */
export interface Unusable {
  readonly ok: false
  readonly rule: FindingRule
  readonly why: string
}

/** Where files lie that were read to learn what they are: no look reads again what another has read. */
export interface Shelf {
  /** The file as it was read before, else as `fetch` gives it, if the budgets have room for that. */
  read(file: UnreadFile, wants: 'bytes' | 'digest', fetch: () => Promise<Contents>): Promise<ReadFile>
  /** True of a file that another look has read, and of which the server says the same as then. */
  isKnown(file: UnreadFile): Promise<boolean>
  /** A look is over. What it did not ask for is forgotten. */
  settle(): Promise<void>
}
