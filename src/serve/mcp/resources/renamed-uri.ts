import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { foldersAbove, joinPath, relativeTo } from '../../../base/paths.ts'
import { uriIn, uriOf } from '../../../sync/model/skill-uri.ts'
import { MadeOnce } from '../../../base/memo.ts'

/**
 * The URI of what a client asks for by its place in the repository: a skill that is called otherwise than its folder is served under
 * its name, and links that its author wrote name the folder. Undefined where that leads to nothing, or to a skill of no list.
 */
export function renamedUri(catalog: Catalog, canonical: string): string | undefined {
  const [source = '', ...segments] = canonical.slice('skill://'.length).split('/').map(decodeURIComponent)
  const renamed = RENAMED.of(catalog, renamedIn).get(source)
  if (renamed === undefined) return undefined
  const path = segments.join('/')
  // What a link leads to from a skill that is renamed itself has the name of that one, and the folder of the other.
  const paths = new Set([path, moved(path, renamed.folders)?.path ?? path])
  for (const at of paths) {
    const served = moved(at, renamed.names)
    if (served === undefined || !isListed(catalog, uriOf(source, served.folder))) continue
    const uri = uriOf(source, served.path)
    if (catalog.folders.has(uri) || catalog.files.has(uri)) return uri
  }
  return undefined
}

/** The path with the nearest of its folders that is another one replaced. Undefined where none is. */
function moved(path: string, folders: ReadonlyMap<string, string>): { folder: string; path: string } | undefined {
  for (const above of [path, ...foldersAbove(path)]) {
    const folder = folders.get(above)
    if (folder !== undefined) return { folder, path: joinPath(folder, relativeTo(above, path)) }
  }
  return undefined
}

function isListed({ skills }: Catalog, root: string): boolean {
  return skills.get(uriIn(root, 'SKILL.md'))?.skill.standing === 'served'
}

/** The folders of a source whose skills are called otherwise. */
interface Renamed {
  /** By the true path. */
  readonly names: ReadonlyMap<string, string>
  /** By the served path. */
  readonly folders: ReadonlyMap<string, string>
}

const RENAMED = new MadeOnce<Catalog, ReadonlyMap<string, Renamed>>()

/** By source, of those that have any. */
function renamedIn({ skills }: Catalog): ReadonlyMap<string, Renamed> {
  const bySource = new Map<string, Renamed>()
  for (const { source, renamed: names } of skills.values()) {
    if (names.size === 0 || bySource.has(source)) continue
    bySource.set(source, { names, folders: new Map([...names].map(([path, served]) => [served, path])) })
  }
  return bySource
}
