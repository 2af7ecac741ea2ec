import { Memo } from '../../../../base/memo.ts'
import { foldersAbove, joinPath, relativeTo } from '../../../../base/paths.ts'
import type { CatalogFile, CatalogSkill, FolderChild } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { readSkillUri, uriIn, uriOf } from '../../../../sync/model/uris/skill-uri.ts'

/** Result of the lookup of a client's URI in a catalog. */
export type LookupResult =
  | { readonly kind: 'file'; readonly uri: string; readonly file: CatalogFile }
  | { readonly kind: 'folder'; readonly uri: string; readonly children: readonly FolderChild[] }
  | { readonly kind: 'nothing'; readonly why: string }

/** Finds a resource by exact lookup of the canonical URI; it never joins paths. */
export function lookup(catalog: Catalog, raw: string): LookupResult {
  const uri = readSkillUri(raw)
  if (!uri.ok) return { kind: 'nothing', why: uri.why }
  const children = catalog.folders.get(uri.canonical)
  if (children !== undefined) return { kind: 'folder', uri: uri.canonical, children }
  const file = uri.trailingSlash ? undefined : catalog.files.get(uri.canonical)
  if (file !== undefined) return { kind: 'file', uri: uri.canonical, file }
  const why = withheldReason(catalog, uri.canonical) ?? renamedReason(catalog, uri.canonical)
  return { kind: 'nothing', why: why ?? 'nothing of that URI is served' }
}

/** Returns the skill whose SKILL.md the URI names, or the reason why there is none. */
export function lookupSkill(catalog: Catalog, raw: string): CatalogSkill | { readonly why: string } {
  const found = lookup(catalog, raw)
  if (found.kind === 'nothing') return found
  if (found.kind === 'folder') return { why: 'it names a folder; read the SKILL.md in it' }
  return catalog.skills.get(found.uri) ?? { why: 'it names a file that is not the SKILL.md of a skill' }
}

function withheldReason(catalog: Catalog, uri: string): string | undefined {
  const skill = catalog.withheld.get(uri)
  if (skill === undefined) return undefined
  return `the skill is withheld: ${skill.findings.map(({ message }) => message).join('; ')}`
}

function renamedReason(catalog: Catalog, uri: string): string | undefined {
  const renamed = renamedUri(catalog, uri)
  return (
    renamed && `nothing of that URI is served; a skill is served under its name, not under its folder's: ${renamed}`
  )
}

/**
 * Returns the served URI for a path in the repository. A skill whose name differs from its folder is served under its
 * name, but links of its author use the folder. `undefined` if nothing is served there, or the skill is not listed.
 */
function renamedUri(catalog: Catalog, canonical: string): string | undefined {
  const [source = '', ...segments] = canonical.slice('skill://'.length).split('/').map(decodeURIComponent)
  const renamed = RENAMED.of(catalog, renamedIn).get(source)
  if (renamed === undefined) return undefined
  const path = segments.join('/')
  // A link from a renamed skill to another one combines the served name of the first with the folder of the second.
  const paths = new Set([path, movedPath(path, renamed.folders)?.path ?? path])
  for (const at of paths) {
    const served = movedPath(at, renamed.names)
    if (served === undefined || !isListed(catalog, uriOf(source, served.folder))) continue
    const uri = uriOf(source, served.path)
    if (catalog.folders.has(uri) || catalog.files.has(uri)) return uri
  }
  return undefined
}

/** Replaces the nearest renamed folder in a path. `undefined` if there is none. */
function movedPath(path: string, folders: ReadonlyMap<string, string>): { folder: string; path: string } | undefined {
  for (const above of [path, ...foldersAbove(path)]) {
    const folder = folders.get(above)
    if (folder !== undefined) return { folder, path: joinPath(folder, relativeTo(above, path)) }
  }
  return undefined
}

function isListed({ skills }: Catalog, root: string): boolean {
  return skills.get(uriIn(root, 'SKILL.md'))?.skill.standing === 'served'
}

/** The folders of a source whose skills have another name. */
interface Renamed {
  /** Served paths by repository path. */
  readonly names: ReadonlyMap<string, string>
  /** Repository paths by served path. */
  readonly folders: ReadonlyMap<string, string>
}

const RENAMED = new Memo<Catalog, ReadonlyMap<string, Renamed>>()

/** Returns the renamed folders of each source that has any. */
function renamedIn({ skills }: Catalog): ReadonlyMap<string, Renamed> {
  const bySource = new Map<string, Renamed>()
  for (const { source, renamed: names } of skills.values()) {
    if (names.size === 0 || bySource.has(source)) continue
    bySource.set(source, { names, folders: new Map([...names].map(([path, served]) => [served, path])) })
  }
  return bySource
}
