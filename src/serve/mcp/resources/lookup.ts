import { atOnce } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import type { CatalogFile, CatalogSkill, FolderChild } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isContractUri } from '../../../sync/catalog/contract-uri.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'
import type { Forms } from './compatibility.ts'
import { contractAt } from './contract.ts'
import type { FoundOfContract } from './contract.ts'
import { syntheticAt } from './derived-resources.ts'
import type { Synthetic } from './derived-resources.ts'
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
  const why = whyWithheld(catalog, uri.canonical) ?? whyRenamed(catalog, uri.canonical)
  return { kind: 'nothing', why: why ?? 'nothing of that URI is served' }
}

/** Result of the lookup among all resources that can be read and subscribed to. */
export type FoundResource =
  | LookupResult
  | { readonly kind: 'synthetic'; readonly uri: string; readonly synthetic: Synthetic }
  | FoundOfContract

/** Finds a resource of the catalog, or else a generated one. */
export function lookupResource(catalog: Catalog, forms: Forms, raw: string): FoundResource {
  const ofContract = forms.contract && isContractUri(raw) ? contractAt(forms.contract.of(catalog), raw) : undefined
  if (ofContract !== undefined) return ofContract
  if (forms.contract === undefined && isContractUri(raw)) return { kind: 'nothing', why: NO_CONTRACT }
  const found = lookup(catalog, raw)
  const uri = found.kind === 'nothing' ? readSkillUri(raw) : undefined
  if (uri?.ok !== true || uri.trailingSlash) return found
  const synthetic = syntheticAt(catalog, forms, uri.canonical)
  return synthetic === undefined ? found : { kind: 'synthetic', uri: uri.canonical, synthetic }
}

const NO_CONTRACT =
  'nothing of resource:// is served to this client: that takes contract: true on a source, or --form contract on a command line'

/** Returns the URIs that are served, each with its canonical form. */
export function servedAmong(catalog: Catalog, forms: Forms, uris: readonly string[]): ReadonlyMap<string, string> {
  return atOnce(servingAmong(catalog, forms, uris))
}

/** Works like `servedAmong`, in steps. */
export function* servingAmong(
  catalog: Catalog,
  forms: Forms,
  uris: readonly string[],
): Steps<ReadonlyMap<string, string>> {
  if (forms.contract !== undefined && uris.some(isContractUri)) yield* forms.contract.steps(catalog)
  const served = new Map<string, string>()
  for (const raw of uris) {
    const found = lookupResource(catalog, forms, raw)
    if ('uri' in found) served.set(raw, found.uri)
    yield
  }
  return served
}

/** Returns the skill whose SKILL.md the URI names, or the reason why there is none. */
export function lookupSkill(catalog: Catalog, raw: string): CatalogSkill | { readonly why: string } {
  const found = lookup(catalog, raw)
  if (found.kind === 'nothing') return found
  if (found.kind === 'folder') return { why: 'it names a folder; ask for the SKILL.md in it' }
  return catalog.skills.get(found.uri) ?? { why: 'it names a file that is not the SKILL.md of a skill' }
}

function whyWithheld(catalog: Catalog, uri: string): string | undefined {
  const skill = catalog.withheld.get(uri)
  if (skill === undefined) return undefined
  return `the skill is withheld: ${skill.findings.map(({ message }) => message).join('; ')}`
}

function whyRenamed(catalog: Catalog, uri: string): string | undefined {
  const renamed = renamedUri(catalog, uri)
  return (
    renamed && `nothing of that URI is served; a skill stands under its name and not under its folder's: ${renamed}`
  )
}
