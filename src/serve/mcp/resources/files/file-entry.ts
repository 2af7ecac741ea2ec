import type { CatalogFile, CatalogFolder } from '../../../../sync/catalog/catalog-file.ts'
import { withHiddenEscaped, withoutHidden } from '../../../../sync/skill/hidden-unicode.ts'
import { mimeTypeOf } from '../../../mime.ts'

/** The list entry of a file. A SKILL.md has the name and description of its skill (SEP-2640). */
export interface ResourceDescription {
  readonly uri: string
  readonly name: string
  readonly description?: string
  readonly mimeType: string
  readonly size: number
}

/** Returns the list entry of one file. */
export function describeFile(file: CatalogFile): ResourceDescription {
  const { uri, documents } = file
  const name = withHiddenEscaped(file.name)
  const { size } = file.file
  if (documents === undefined) return { uri, name, mimeType: mimeTypeOf(file.name), size }
  return {
    uri,
    name: withoutHidden(documents.name),
    description: withoutHidden(documents.description),
    mimeType: 'text/markdown',
    size,
  }
}

/** Returns the entry of a folder, without a trailing slash in its URI, and with the media type of SEP-2640. */
export function describeFolder(folder: CatalogFolder): object {
  return { uri: folder.uri, name: folder.name, mimeType: 'inode/directory' }
}
