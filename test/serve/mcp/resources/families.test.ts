import { expect, test } from 'vitest'
import type { Steps } from '../../../../src/base/async/cooperative.ts'
import { ResponseCache } from '../../../../src/serve/mcp/core/response-cache.ts'
import { eventsBetween } from '../../../../src/serve/mcp/events/events.ts'
import { findResource, servedAmong } from '../../../../src/serve/mcp/resources/find-resource.ts'
import type { Forms } from '../../../../src/serve/mcp/resources/forms.ts'
import type {
  CatalogStep,
  FamilyResource,
  FoundResource,
  ResourceFamily,
} from '../../../../src/serve/mcp/resources/resource-family.ts'
import { listResources, listTemplates, readResource } from '../../../../src/serve/mcp/resources/resources.ts'
import { announcedBytes } from '../../../../src/serve/mcp/tools/response-size.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'
import { sample, snapshotOf } from '../../../sync/store/samples.ts'

const ONE = sample('one', { 'SKILL.md': '' })
const TWO = sample('two', { 'SKILL.md': '' })
const URI = 'skill://count.txt'
const READ = async (): Promise<undefined> => undefined
const PAGES = { entries: 100, bytes: 2 ** 20 }

test('a fourth family is listed, found, read, estimated and notified of by its place in the list alone', async () => {
  const [before, after] = [catalogOf(snapshotOf(ONE)), catalogOf(snapshotOf(ONE, TWO))]
  const forms = withFamily(new SkillCount())

  const { resources } = Object(await listResources(before, forms, undefined, PAGES))
  const { resourceTemplates } = Object(listTemplates(before, forms, undefined))
  const answer = await readResource(before, URI, { era: 'modern' }, { forms, read: READ })

  expect(resources.at(-1)).toEqual({ uri: URI, name: 'count.txt' })
  expect(resourceTemplates.at(-1)).toMatchObject({ uriTemplate: 'skill://count.{format}' })
  expect(answer).toEqual({ contents: [{ uri: URI, mimeType: 'text/plain', text: '1' }] })
  expect([...servedAmong(before, forms, [URI, 'skill://other.txt'])]).toEqual([[URI, URI]])
  expect(announcedBytes(before, forms, { method: 'resources/read', params: { uri: URI } })).toBe(2)
  expect(eventsBetween(before, after, forms).updated).toContain(URI)
  expect(eventsBetween(before, after, formsOf()).updated).not.toContain(URI)
})

test('a family hides the URIs of those after it, and the reason is that of the last one that gives any', () => {
  const catalog = catalogOf(snapshotOf(ONE))
  const forms = withFamily(new SkillCount())

  expect(findResource(catalog, forms, 'skill://team/one/SKILL.md')).toMatchObject({ kind: 'resource' })
  expect(findResource(catalog, forms, 'skill://team/none')).toEqual({
    kind: 'nothing',
    why: 'nothing of that URI is served',
  })
  expect(findResource(catalog, formsOf({ contract: false }), 'resource://docs/x')).toMatchObject({
    kind: 'nothing',
    why: expect.stringContaining('valid x-personal-mcp block'),
  })
})

test('a large text of any family is sent in pieces, escaped as a whole', async () => {
  const registry = new Registry()
  const cache = { ttlMs: 0, cacheScope: 'public' } as const
  const answers = new ResponseCache({ registry, read: READ, forms: withFamily(new SkillCount()), pages: PAGES, cache })

  const pieces = await answers.resultOf('resources/read', { uri: URI }, { era: 'legacy' })

  expect(JSON.parse(Buffer.concat(pieces ?? []).toString())).toEqual({
    contents: [{ uri: URI, mimeType: 'text/plain', text: '"0"\n' }],
  })
})

function withFamily(family: ResourceFamily): Forms {
  const forms = formsOf()
  return { ...forms, digest: 'with a fourth', families: [...forms.families, family] }
}

/** One resource: the number of listed skills. */
class SkillCount implements ResourceFamily {
  readonly scope = 'skills'

  get closed(): this {
    return this
  }

  find(catalog: Catalog, uri: string): FoundResource | undefined {
    return uri === URI ? { kind: 'resource', uri, resource: countIn(catalog) } : undefined
  }

  preparationFor(): undefined {}

  largeText({ listed }: Catalog, uri: string): ReturnType<ResourceFamily['largeText']> {
    const pieces = ['"', String(listed.length), '"\n']
    return uri === URI ? Promise.resolve({ mimeType: 'text/plain', pieces }) : undefined
  }

  *list(catalog: Catalog): Steps<readonly FamilyResource[]> {
    yield
    return [countIn(catalog)]
  }

  templates(): ReturnType<ResourceFamily['templates']> {
    const listed = { uriTemplate: 'skill://count.{format}', name: 'count', description: 'The number of skills' }
    return [{ listed, names: ['format'], valuesOf: async () => [] }]
  }

  *changes({ before, after }: CatalogStep): Steps<readonly string[]> {
    yield
    return before.listed.length === after.listed.length ? [] : [URI]
  }

  *isListChanged(): Steps<boolean> {
    yield
    return false
  }

  configurableUris(): readonly string[] {
    return []
  }
}

function countIn({ listed }: Catalog): FamilyResource {
  const text = String(listed.length)
  return {
    uri: URI,
    mimeType: 'text/plain',
    part: undefined,
    describe: () => ({ uri: URI, name: 'count.txt' }),
    entryBytes: () => 100,
    contentBytes: () => text.length,
    content: async () => ({ text }),
  }
}
