import type { CatalogFile, CatalogFolders, FolderChild } from './catalog-entry.ts'
import { comparePaths } from './digest.ts'
import { decodedSegment } from './skill-uri.ts'

/** All files by canonical URI. Each is found in its folder: a map of all of them would be as large as they are. */
export class CatalogFiles {
  readonly #folders: CatalogFolders
  #size: number | undefined

  constructor(folders: CatalogFolders) {
    this.#folders = folders
  }

  get(uri: string): CatalogFile | undefined {
    const end = uri.lastIndexOf('/')
    const children = end === -1 ? undefined : this.#folders.get(uri.slice(0, end))
    if (children === undefined) return undefined
    const name = decodedSegment(uri.slice(end + 1))
    const file = name === undefined ? undefined : fileNamed(children, name)
    // Where it was written otherwise, it is not that file's.
    return file?.uri === uri ? file : undefined
  }

  has(uri: string): boolean {
    return this.get(uri) !== undefined
  }

  /** The one with the URI of a file of this catalog or of another: neither has to be written for it. */
  at({ folder, name }: Pick<CatalogFile, 'folder' | 'name'>): CatalogFile | undefined {
    const children = this.#folders.get(folder)
    return children && fileNamed(children, name)
  }

  get size(): number {
    return (this.#size ??= [...this.values()].length)
  }

  *values(): Generator<CatalogFile> {
    for (const children of this.#folders.values()) for (const child of children) if (isFile(child)) yield child
  }
}

function fileNamed(children: readonly FolderChild[], name: string): CatalogFile | undefined {
  let [low, high] = [0, children.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const child = children[middle]
    if (child !== undefined && comparePaths(child.name, name) < 0) low = middle + 1
    else high = middle
  }
  const child = children[low]
  return child !== undefined && isFile(child) && child.name === name ? child : undefined
}

function isFile(child: FolderChild): child is CatalogFile {
  return !('kind' in child)
}
