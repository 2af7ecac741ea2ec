import { stepByStep } from '../../../base/cooperative.ts'
import type { Steps } from '../../../base/cooperative.ts'
import { DerivedCache } from '../../../base/memo.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Forms } from './forms.ts'
import type { FamilyResource } from './port/resource-family.ts'

/**
 * Returns everything in `resources/list`, without duplicates. It is built in slices for the first request, and once for
 * each catalog.
 */
export async function listedResources(catalog: Catalog, forms: Forms): Promise<readonly FamilyResource[]> {
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
const LISTED = new DerivedCache<Catalog, Map<string, Promise<readonly FamilyResource[]>>>()

function* listing(catalog: Catalog, { families }: Forms): Steps<readonly FamilyResource[]> {
  const lists: (readonly FamilyResource[])[] = []
  for (const family of families) lists.push(yield* family.list(catalog))
  return lists.flat()
}
