import { firstFrom } from '../model/digest.ts'
import { decodedSegment, uriIn } from '../model/uris/skill-uri.ts'
import type { CatalogFile, FolderChild, FolderChildren } from './catalog-file.ts'
import type { CatalogFolders, SkillsByUri } from './catalog-folders.ts'
import { fileBelow, filesOf } from './skill-files.ts'

/**
 * All files by canonical URI. A lookup goes through the skill or the folder: a map of all files would be as large as
 * they are.
 */
export class CatalogFiles {
  readonly #folders: CatalogFolders
  readonly #skills: SkillsByUri
  #size: number | undefined

  constructor(folders: CatalogFolders, skills: SkillsByUri) {
    this.#folders = folders
    this.#skills = skills
  }

  get(uri: string): CatalogFile | undefined {
    const end = uri.lastIndexOf('/')
    if (end === -1) return undefined
    const folder = uri.slice(0, end)
    const skill = this.#folders.aloneAround(folder)
    if (skill !== undefined) return fileBelow(skill, uri)
    const children = this.#folders.get(folder)
    const name = children && decodedSegment(uri.slice(end + 1))
    const file = children && name !== undefined ? fileNamed(children, name) : undefined
    // A URI in another spelling does not lead to the file.
    return file?.uri === uri ? file : undefined
  }

  has(uri: string): boolean {
    return this.get(uri) !== undefined
  }

  /** The file that has the URI of a file of this catalog or of another. */
  at({ folder, name }: Pick<CatalogFile, 'folder' | 'name'>): CatalogFile | undefined {
    const skill = this.#folders.aloneAround(folder)
    if (skill !== undefined) return fileBelow(skill, uriIn(folder, name))
    const children = this.#folders.get(folder)
    return children && fileNamed(children, name)
  }

  get size(): number {
    return (this.#size ??= this.#count())
  }

  *values(): Generator<CatalogFile> {
    yield* this.#shared()
    for (const skill of this.#skills.values()) if (skill.isAlone) yield* filesOf(skill)
  }

  #count(): number {
    let count = [...this.#shared()].length
    for (const { skill, isAlone } of this.#skills.values()) if (isAlone) count += skill.files.length
    return count
  }

  *#shared(): Generator<CatalogFile> {
    for (const children of this.#folders.shared()) for (const child of children) if (isFile(child)) yield child
  }
}

function fileNamed(children: FolderChildren, name: string): CatalogFile | undefined {
  const child = children[firstFrom(children, name, (one) => one.name)]
  return child !== undefined && isFile(child) && child.name === name ? child : undefined
}

function isFile(child: FolderChild): child is CatalogFile {
  return !('kind' in child)
}
