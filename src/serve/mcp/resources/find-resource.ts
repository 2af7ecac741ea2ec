import { runNow } from '../../../base/async/cooperative.ts'
import type { Steps } from '../../../base/async/cooperative.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Forms } from './forms.ts'
import type { FoundResource } from './resource-family.ts'

/**
 * Finds a resource in the first family that serves or refuses the URI. If no family does, the reason is that of the
 * last one that gives any: a later family is for fewer URIs.
 */
export function findResource(catalog: Catalog, { families }: Forms, uri: string): FoundResource {
  let nothing: FoundResource = NOTHING
  for (const family of families) {
    const found = family.find(catalog, uri)
    if (found !== undefined && found.kind !== 'nothing') return found
    nothing = found ?? nothing
  }
  return nothing
}

const NOTHING: FoundResource = { kind: 'nothing', why: 'nothing of that URI is served' }

/** Returns the URIs that are served, each with its canonical form. */
export function servedAmong(catalog: Catalog, forms: Forms, uris: readonly string[]): ReadonlyMap<string, string> {
  return runNow(servingAmong(catalog, forms, uris))
}

/** Works like `servedAmong`, in steps. */
export function* servingAmong(
  catalog: Catalog,
  forms: Forms,
  uris: readonly string[],
): Steps<ReadonlyMap<string, string>> {
  yield* preparing(catalog, forms, uris)
  const served = new Map<string, string>()
  for (const raw of uris) {
    const found = findResource(catalog, forms, raw)
    if ('uri' in found) served.set(raw, found.uri)
    yield
  }
  return served
}

function* preparing(catalog: Catalog, { families }: Forms, uris: readonly string[]): Steps<void> {
  for (const family of families) {
    const needing = uris.find((uri) => family.preparationFor(uri) !== undefined)
    if (needing !== undefined) yield* family.preparationFor(needing)?.steps(catalog) ?? []
  }
}

/** Prepares in slices what `findResource` builds for a URI. `undefined` if that takes no time. */
export function readyToFind(catalog: Catalog, { families }: Forms, uri: string): Promise<unknown> | undefined {
  for (const family of families) {
    const preparation = family.preparationFor(uri)
    if (preparation !== undefined) return preparation.ready(catalog)
  }
  return undefined
}
