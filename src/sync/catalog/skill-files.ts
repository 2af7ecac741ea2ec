import { baseName, folderOf, joinPath } from '../../base/paths.ts'
import { comparePaths, firstFrom } from '../model/digest.ts'
import { servedPathOf } from '../model/serving-paths.ts'
import type { SkillFile } from '../model/skill.ts'
import { decodedSegment, isUnencoded, uriIn, uriOf } from '../model/uris/skill-uri.ts'
import { CatalogFile, type CatalogFolder, type CatalogSkill, type FolderChild } from './catalog-file.ts'

/** The files of a skill, with those of nested skills: SKILL.md first, then by URI. Each call makes them anew. */
export function filesOf(skill: CatalogSkill): readonly CatalogFile[] {
  const folders = new FolderUris(skill)
  const files = skill.skill.files.map((file) => fileOf(skill, folders.of(folderOf(file.path)), file))
  return documentFirst(isInUriOrder(skill) ? files : files.sort(compareUris))
}

/** The URIs of the folders that contain the files of a skill, with its root. */
export function folderUrisOf(skill: CatalogSkill): Iterable<string> {
  const folders = new FolderUris(skill)
  for (const { path } of skill.skill.files) folders.of(folderOf(path))
  return folders.all
}

/** The file that a skill which stands alone has at a URI below its root. */
export function fileBelow(skill: CatalogSkill, uri: string): CatalogFile | undefined {
  const path = pathAt(skill, uri)
  if (path === undefined) return undefined
  const { files } = skill.skill
  const file = files[firstFrom(files, path, pathOf)]
  return file?.path === path ? fileOf(skill, folderUriOf(uri), file) : undefined
}

/**
 * The direct children of a folder in a skill that stands alone, by the folder's URI; `undefined` if it has no such
 * folder.
 */
export function childrenBelow(skill: CatalogSkill, uri: string): readonly FolderChild[] | undefined {
  const path = pathAt(skill, uri)
  if (path === undefined) return undefined
  const inside = path === '' ? '' : `${path}/`
  const all = skill.skill.files
  const files: CatalogFile[] = []
  const folders = new Map<string, CatalogFolder>()
  // The files are sorted by path, so those of one folder are adjacent.
  for (let at = firstFrom(all, inside, pathOf); all[at]?.path.startsWith(inside) === true; at += 1) {
    const file = all[at]
    if (file === undefined) break
    const slash = file.path.indexOf('/', inside.length)
    if (slash === -1) files.push(fileOf(skill, uri, file))
    else {
      const name = file.path.slice(inside.length, slash)
      folders.set(name, { kind: 'folder', uri: uriIn(uri, name), name })
    }
  }
  const children = [...files, ...folders.values()]
  return children.length === 0 ? undefined : children.sort((a, b) => comparePaths(a.name, b.name))
}

/** The path in a skill for a URI at its root or below. `undefined` if the URI is not in its canonical spelling. */
function pathAt({ root }: CatalogSkill, uri: string): string | undefined {
  if (uri === root) return ''
  const below = uri.slice(root.length + 1)
  // Every read comes here, and most URIs need no encoding.
  if (below !== '' && isUnencoded(below)) return below
  const names: string[] = []
  for (const segment of below.split('/')) {
    const name = decodedSegment(segment)
    if (name === undefined) return undefined
    names.push(name)
  }
  return names.map(encodeURIComponent).join('/') === below ? names.join('/') : undefined
}

function fileOf(skill: CatalogSkill, folder: string, file: SkillFile): CatalogFile {
  const isDocument = file.path === 'SKILL.md'
  return new CatalogFile(folder, skill.skill, file, isDocument ? skill : undefined)
}

function pathOf({ path }: SkillFile): string {
  return path
}

function folderUriOf(uri: string): string {
  return uri.slice(0, uri.lastIndexOf('/'))
}

/** The URIs of the folders of one skill. Each may be long, and is built once for all files in the folder. */
class FolderUris {
  readonly #skill: CatalogSkill
  readonly #known: Map<string, string>

  constructor(skill: CatalogSkill) {
    this.#skill = skill
    this.#known = new Map([['', skill.root]])
  }

  /** The URI of a folder, by its path in the skill. */
  of(folder: string): string {
    const known = this.#known.get(folder)
    if (known !== undefined) return known
    const { source, renamed, skill } = this.#skill
    // The root's content is served below the root's own name, whatever it is called elsewhere.
    const isAsItIs = skill.path === '' || renamed.size === 0
    const uri = isAsItIs
      ? uriIn(this.of(folderOf(folder)), baseName(folder))
      : uriOf(source, servedPathOf(joinPath(skill.path, folder), renamed))
    this.#known.set(folder, uri)
    return uri
  }

  get all(): Iterable<string> {
    return this.#known.values()
  }
}

/** True if the files, which are sorted by path, are sorted by URI too: in most skills both have the same spelling. */
export function isInUriOrder({ isAlone, skill }: CatalogSkill): boolean {
  return isAlone && skill.files.every(({ path }) => isUnencoded(path))
}

function documentFirst(sorted: readonly CatalogFile[]): readonly CatalogFile[] {
  const at = sorted.findIndex(({ documents }) => documents !== undefined)
  return at < 1 ? sorted : [...sorted.slice(at, at + 1), ...sorted.toSpliced(at, 1)]
}

/** Most files share their folder with the next one: their whole URIs need not be built. */
function compareUris(a: CatalogFile, b: CatalogFile): number {
  if (a.folder !== b.folder) return comparePaths(a.uri, b.uri)
  return comparePaths(encodeURIComponent(a.name), encodeURIComponent(b.name))
}
