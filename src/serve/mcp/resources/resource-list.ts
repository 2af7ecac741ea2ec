import { stepByStep } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import { DerivedCache } from '../../../base/memo.ts'
import type { CatalogFile } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { listedOfContract } from './contract/contract-list.ts'
import type { ContractResource } from './contract/contract.ts'
import { INDEX_URI, syntheticsOf } from './derived/derived-resources.ts'
import type { Synthetic } from './derived/derived-resources.ts'
import type { Forms } from './forms.ts'

/** One resource of `resources/list`. */
export type Listed = OfSkills | ContractResource

/** The resources at `skill://`. */
type OfSkills = CatalogFile | Synthetic

/**
 * Returns everything in `resources/list`, without duplicates. It is built in slices for the first request, and once for
 * each catalog.
 */
export async function listedResources(catalog: Catalog, forms: Forms): Promise<readonly Listed[]> {
  const ofCatalog = LISTED.of(catalog, () => new Map())
  const known = ofCatalog.get(forms.digest)
  if (known !== undefined) return known
  const listed = stepByStep(listing(catalog, forms))
  ofCatalog.set(forms.digest, listed)
  try {
    return await listed
  } catch (error) {
    // Failures are not cached, because they may be temporary.
    ofCatalog.delete(forms.digest)
    throw error
  }
}

/** The lists by the digest of the forms, because the forms of a caller are created anew for it. */
const LISTED = new DerivedCache<Catalog, Map<string, Promise<readonly Listed[]>>>()

function* listing(catalog: Catalog, forms: Forms): Steps<readonly Listed[]> {
  const ofSkills = yield* listingOfSkills(catalog, forms)
  if (forms.contract !== undefined) yield* forms.contract.steps(catalog)
  return [...ofSkills, ...listedOfContract(catalog, forms)]
}

function* listingOfSkills(catalog: Catalog, { resources, ...forms }: Forms): Steps<readonly OfSkills[]> {
  const all: OfSkills[] = yield* resources.list === 'skills' ? documenting(catalog) : filing(catalog)
  if (resources.synthetic === 'hide') return all
  if (forms.index !== undefined) all.push({ kind: 'index', uri: INDEX_URI })
  for (const skill of catalog.listed) {
    all.push(...syntheticsOf(catalog, forms, skill))
    yield
  }
  return all
}

/**
 * Returns true if the lists of two catalogs have equal entries of skills. Entries of generated resources contain
 * nothing that can change.
 */
export function* areSameLists(before: Catalog, after: Catalog, forms: Forms): Steps<boolean> {
  const [was, is] = [yield* listingOfSkills(before, forms), yield* listingOfSkills(after, forms)]
  if (was.length !== is.length) return false
  for (const [index, resource] of was.entries()) {
    if (!sayAlike(resource, is[index])) return false
    yield
  }
  return true
}

function sayAlike(resource: OfSkills, other: OfSkills | undefined): boolean {
  if (other === undefined || resource.uri !== other.uri) return false
  if ('kind' in resource || 'kind' in other) return 'kind' in resource && 'kind' in other
  const [was, is] = [resource.documents, other.documents]
  return resource.file.size === other.file.size && was?.name === is?.name && was?.description === is?.description
}

function* documenting({ listed, files }: Catalog): Steps<CatalogFile[]> {
  const all: CatalogFile[] = []
  for (const { uri } of listed) {
    const file = files.get(uri)
    if (file !== undefined) all.push(file)
    yield
  }
  return all
}

/** The files of a nested skill belong to both skills. */
function* filing({ listed, files }: Catalog): Steps<CatalogFile[]> {
  const all = new Set<CatalogFile>()
  for (const skill of listed) {
    for (const of of filesOf(skill)) {
      const file = files.at(of)
      if (file !== undefined) all.add(file)
    }
    yield
  }
  return [...all]
}
