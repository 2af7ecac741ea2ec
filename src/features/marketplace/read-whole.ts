import { bytesOf, isUnread } from '../../serve/content.ts'
import type { ReadContent } from '../../serve/content.ts'
import type { CatalogFile } from '../../sync/catalog/catalog-file.ts'

/** The content of a file is needed, and cannot be read at this moment. */
export class ContentUnavailableError extends Error {
  override readonly name = 'ContentUnavailable'
}

/** Reads a file. Throws `ContentUnavailableError` if its bytes are not those that are listed, or cannot be read now. */
export async function readWhole(listed: CatalogFile, read: ReadContent): Promise<Buffer> {
  const bytes = await bytesOf(listed, read)
  if (isUnread(bytes)) throw new ContentUnavailableError('A file of a skill cannot be read at this moment')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The time until work that failed is tried again: each attempt reads many files. */
export const AGAIN_MS = 10_000
