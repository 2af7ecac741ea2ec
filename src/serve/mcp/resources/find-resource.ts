import { atOnce } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isContractUri } from '../../../sync/catalog/contract-uri.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'
import { contractAt } from './contract/contract.ts'
import type { FoundOfContract } from './contract/contract.ts'
import { syntheticAt } from './derived/derived-resources.ts'
import type { Synthetic } from './derived/derived-resources.ts'
import { lookup } from './files/lookup.ts'
import type { LookupResult } from './files/lookup.ts'
import type { Forms } from './forms.ts'

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
