import { expect, test } from 'vitest'
import { manifestText, manifestUriOf } from '../../src/serve/mcp/manifest.ts'
import { INDEX_URI } from '../../src/serve/mcp/synthetic.ts'
import { syntheticChanges } from '../../src/serve/mcp/synthetic-changes.ts'
import type { Catalog } from '../../src/sync/model/catalog.ts'
import { formsOf } from '../support/forms.ts'
import { holdsForCatalogs } from '../sync/catalogs.ts'

test(
  'index and manifests are told exactly where their bytes are others, whatever the repository',
  { timeout: 120_000 },
  async () => {
    const pairs: (readonly [Catalog, Catalog])[] = []
    await holdsForCatalogs(60, (catalogs) => {
      for (const [index, after] of catalogs.entries()) pairs.push([catalogs.at(index - 1)!, after])
    })
    const forms = formsOf()

    for (const [before, after] of pairs) {
      const [was, is] = await Promise.all([before, after].map(textsOf))
      const uris = new Set([...was!.keys(), ...is!.keys()])
      const changed = [...uris].filter((uri) => was!.get(uri) !== is!.get(uri))
      expect(syntheticChanges(before, after, forms).toSorted()).toEqual(changed.toSorted())
    }
    expect(pairs.length).toBeGreaterThan(60)
  },
)

/** What is made of a catalog where nothing of the repository has its URI. */
async function textsOf(catalog: Catalog): Promise<ReadonlyMap<string, string>> {
  const manifests = [...catalog.skills.values()].map(
    (skill) => [manifestUriOf(skill), manifestText(skill, '')] as const,
  )
  const index = await formsOf().index!.text(catalog, async () => undefined)
  return new Map([[INDEX_URI, index], ...manifests.filter(([uri]) => !catalog.files.has(uri))])
}
