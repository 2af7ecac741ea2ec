import type { CatalogFile } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { stepByStep } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import type { ContractResource } from './contract.ts'
import { listedOfContract } from './contract-list.ts'
import type { Forms } from './compatibility.ts'
import { MadeOnce } from '../../../base/memo.ts'
import { INDEX_URI, syntheticsOf } from './derived-resources.ts'
import type { Synthetic } from './derived-resources.ts'

/** One resource of `resources/list`. */
export type Listed = OfSkills | ContractResource

/** Those at `skill://`. */
type OfSkills = CatalogFile | Synthetic

/** Everything that `resources/list` holds, each once; made in slices for the first request, and once for each catalog. */
export async function listedResources(catalog: Catalog, forms: Forms): Promise<readonly Listed[]> {
  const ofCatalog = LISTED.of(catalog, () => new Map())
  const known = ofCatalog.get(forms.digest)
  if (known !== undefined) return known
  const listed = stepByStep(listing(catalog, forms))
  ofCatalog.set(forms.digest, listed)
  try {
    return await listed
  } catch (error) {
    // A later request is not told of a failure that may be over.
    ofCatalog.delete(forms.digest)
    throw error
  }
}

/** By the digests of forms: those of a caller are made anew for it. */
const LISTED = new MadeOnce<Catalog, Map<string, Promise<readonly Listed[]>>>()

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

/** True where the lists of two catalogs say the same of skills. They say nothing of synthetic documents that can change. */
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

/** The files of a skill inside of a skill are files of both. */
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
