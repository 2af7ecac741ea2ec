import type { Catalog } from '../../sync/model/catalog.ts'
import { contractFamily } from './contract.ts'
import { describeContract, listedOfContract } from './contract-list.ts'
import { contractTemplates } from './contract-templates.ts'
import { versionOfContract } from './contract-text.ts'
import type { Forms } from './forms.ts'

/** The URIs of the family that came, went or changed their bytes. One that two skills claim is gone until one of them leaves it. */
export function contractChanges(before: Catalog, after: Catalog, forms: Pick<Forms, 'contract'>): string[] {
  if (!forms.contract) return []
  return anyOfContract(before, after).filter((uri) => versionAt(before, uri) !== versionAt(after, uri))
}

/** Whatever of the family can be read in either catalog. */
export function anyOfContract(...catalogs: readonly Catalog[]): string[] {
  const uris = new Set<string>()
  for (const catalog of catalogs) for (const uri of contractFamily(catalog).resources.keys()) uris.add(uri)
  return [...uris]
}

/** Whether the lists of resources and of templates say something else of the family. */
export function isContractListChanged(before: Catalog, after: Catalog, forms: Forms): boolean {
  if (!forms.contract) return false
  return listText(before, forms) !== listText(after, forms)
}

function versionAt(catalog: Catalog, uri: string): string | undefined {
  const resource = contractFamily(catalog).resources.get(uri)
  return resource && versionOfContract(resource, catalog)
}

function listText(catalog: Catalog, forms: Forms): string {
  const templates = contractTemplates(catalog).map(({ listed }) => listed.uriTemplate)
  return JSON.stringify([listedOfContract(catalog, forms).map(describeContract), templates])
}
