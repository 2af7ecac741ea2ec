import type { CatalogFile, CatalogSkill, FolderChild } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { readSkillUri } from '../../../../sync/model/skill-uri.ts'
import { renamedUri } from './renamed-uri.ts'

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
