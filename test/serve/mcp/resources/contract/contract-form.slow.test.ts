import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventsBetween, listenForEvents } from '../../../../../src/serve/mcp/events/events.ts'
import type { Events } from '../../../../../src/serve/mcp/events/events.ts'
import { servedAmong } from '../../../../../src/serve/mcp/resources/find-resource.ts'
import { formsFor } from '../../../../../src/serve/mcp/resources/forms.ts'
import type { Forms } from '../../../../../src/serve/mcp/resources/forms.ts'
import { listResources, listTemplates, readResource } from '../../../../../src/serve/mcp/resources/resources.ts'
import { RpcError } from '../../../../../src/serve/mcp/rpc/rpc-error.ts'
import { announcedBytes } from '../../../../../src/serve/mcp/tools/response-size.ts'
import type { Scope } from '../../../../../src/serve/principal.ts'
import { Registry } from '../../../../../src/serve/registry.ts'
import type { Catalog } from '../../../../../src/sync/catalog/catalog.ts'
import { DOCS_OF_TEAM, formsOf } from '../../../../support/clients/forms.ts'
import { catalogOfWorld, readWorld } from '../../../../support/content/contract-world.ts'
import type { SkillWorld, World } from '../../../../support/content/contract-world.ts'

const INDEX = 'resource://catalog/skills_index'
const FORMS: Forms = formsOf()

describe('an id that two skills have', () => {
  const one = { path: 'a/tidy', id: 'tidy', references: { rules: { text: 'one' } } }
  const other = { path: 'b/tidy', id: 'tidy', references: { rules: { text: 'other' } } }
  const alone = { path: 'fine', id: 'fine', dependsOn: ['tidy'] }

  test.each<[string, World]>([
    ['of one source', { team: { skills: [one, other, alone] } }],
    ['of two sources', { team: { skills: [alone, one] }, more: { skills: [{ ...other, path: 'b/tidy' }] } }],
    [
      'beside one in no list',
      { team: { skills: [alone, one, { ...other, path: 'c/tidy', standing: 'unlisted' }, other] } },
    ],
  ])('leads to neither of them, and both are named (%s)', async (_, world) => {
    const catalog = catalogOfWorld(world)
    const uris = catalog.listed.map(({ uri }) => uri).filter((uri) => uri.includes('tidy'))

    for (const uri of [
      'resource://catalog/skills/tidy',
      'resource://skills/tidy/document',
      'resource://skills/tidy/references/rules',
    ]) {
      const refused = await refusalOf(catalog, uri)
      expect(refused).toMatchObject({ code: -32602, data: { candidates: uris } })
      for (const clashing of uris) expect(refused.message).toContain(clashing)
      expect([...servedAmong(catalog, FORMS, [uri])]).toEqual([])
    }
    expect(await idsIn(catalog)).toEqual(['fine'])
    expect(JSON.parse(await textOf(catalog, 'resource://catalog/skills/fine')).missing).toEqual(['tidy'])
    expect(
      (await urisListed(catalog, FORMS)).filter((uri) => uri.startsWith('resource://') && uri.includes('tidy')),
    ).toEqual([])
    expect(await urisListed(catalog, FORMS)).toContain(one.path === 'a/tidy' ? 'skill://team/a/tidy/SKILL.md' : '')
  })

  test('is that of the one in the lists where the other is in none, and nothing tells of that one', async () => {
    const [hidden, named] = [{ ...other, standing: 'unlisted' } as const, ['fine', 'tidy']]
    const [beside, without] = [
      [one, alone, hidden],
      [one, alone],
    ].map((skills) => catalogOfWorld({ team: { skills } }))

    expect(await idsIn(beside!)).toEqual(named)
    expect(await urisListed(beside!, FORMS)).toEqual(await urisListed(without!, FORMS))
    for (const uri of await urisListed(without!, FORMS)) {
      expect([uri, await textOf(beside!, uri)]).toEqual([uri, await textOf(without!, uri)])
    }
  })

  test('leads nowhere where two in no list have it, as if there were none', async () => {
    const standing = 'unlisted'
    const hidden = [
      { ...one, standing },
      { ...other, standing },
    ] as const
    const [clash, without] = [hidden, []].map((skills) => catalogOfWorld({ team: { skills: [alone, ...skills] } }))

    const uri = 'resource://skills/tidy/document'
    const [refused, unknown] = [await refusalOf(clash!, uri), await refusalOf(without!, uri)]

    expect([refused.code, refused.message, refused.data]).toEqual([unknown.code, unknown.message, unknown.data])
  })

  test('belongs to the one of them that stays, and to a skill that only shares the name it is nothing', async () => {
    const clash = catalogOfWorld({ team: { skills: [one, other] } })
    const left = catalogOfWorld({ team: { skills: [one, { ...other, contract: false }] } })

    const { updated } = eventsBetween(clash, left, FORMS)

    expect(await textOf(left, 'resource://skills/tidy/references/rules')).toBe('one')
    expect([...updated].filter((uri) => uri.startsWith('resource://')).toSorted()).toEqual([
      'resource://catalog/skills/tidy',
      INDEX,
      'resource://skills/tidy/document',
      'resource://skills/tidy/references/rules',
    ])
  })
})

test('a skill in no list is answered for by its URIs, and is neither in the index nor in a list', async () => {
  const hidden: SkillWorld = { path: 'h', id: 'h', standing: 'unlisted', references: { r: { text: 'R' } } }
  const catalog = catalogOfWorld({ team: { skills: [hidden, { path: 'a', id: 'a' }] } })

  expect(await textOf(catalog, 'resource://skills/h/references/r')).toBe('R')
  expect(JSON.parse(await textOf(catalog, 'resource://catalog/skills/h')).id).toBe('h')
  expect(await idsIn(catalog)).toEqual(['a'])
  expect((await urisListed(catalog, FORMS)).filter((uri) => /\/h\b/.test(uri))).toEqual([])
  // Nothing that is listed has a reference.
  expect(templatesListed(catalog, FORMS)).not.toContain('resource://skills/{skill_id}/references/{ref_id}')
})

test('a renamed reference has its new id only, and a file that moved has the id that it had', async () => {
  const skill = (references: SkillWorld['references']) => [{ path: 'a', id: 'a', references: references! }]
  const before = catalogOfWorld({ team: { skills: skill({ old: { text: 'R', path: 'references/r.md' } }) } })
  const renamed = catalogOfWorld({ team: { skills: skill({ new: { text: 'R', path: 'references/r.md' } }) } })
  const moved = catalogOfWorld({ team: { skills: skill({ old: { text: 'R', path: 'references/x/r.md' } }) } })

  expect((await refusalOf(renamed, 'resource://skills/a/references/old')).code).toBe(-32602)
  expect(await textOf(renamed, 'resource://skills/a/references/new')).toBe('R')
  expect(await textOf(moved, 'resource://skills/a/references/old')).toBe('R')
  expect([...eventsBetween(before, moved, FORMS).updated]).not.toContain('resource://skills/a/references/old')
})

test('bytes that are not those of the list never leave', async () => {
  const catalog = catalogOfWorld({
    team: { skills: [{ path: 'a', id: 'a', references: { r: { text: 'R' } } }], docs: { 'd.md': 'D' } },
  })

  for (const read of [async () => undefined, async () => Buffer.from('x'), async () => Buffer.from('RR')]) {
    for (const uri of ['resource://skills/a/document', 'resource://skills/a/references/r', 'resource://docs/d.md']) {
      const reading = readResource(catalog, uri, { era: 'modern' }, { forms: FORMS, read })
      await expect(reading).rejects.toMatchObject({ code: -32603 })
    }
  }
})

test('a read that the disk refuses for the moment asks the client to try again, and says nothing of damage', async () => {
  const catalog = catalogOfWorld({ team: { skills: [{ path: 'a', id: 'a' }] } })

  for (const uri of ['resource://skills/a/document', 'skill://team/a/SKILL.md']) {
    const reading = readResource(catalog, uri, { era: 'modern' }, { forms: FORMS, read: async () => 'not-now' })
    await expect(reading).rejects.toMatchObject({
      code: -32603,
      message: 'The content cannot be read at this moment; try again',
    })
  }
})

test('an answer counts as large as the file that is asked for, by whichever of its URIs', () => {
  const catalog = catalogOfWorld({ team: { skills: [{ path: 'a', id: 'a', body: 'x'.repeat(9_999) }] } })
  const bytesOf = (uri: string, forms = FORMS): number =>
    announcedBytes(catalog, forms, { method: 'resources/read', params: { uri } })

  const asFile = bytesOf('skill://team/a/SKILL.md')

  expect(asFile).toBeGreaterThan(9_999)
  expect(bytesOf('resource://skills/a/document')).toBe(asFile)
  expect(bytesOf('resource://skills/a/document', formsOf({ contract: false }))).toBe(0)
})

test('what is made of thousands of skills counts as large as it is', async () => {
  const tags = Array.from({ length: 1_000 }, (_, index) => `tag-${index}`)
  const skills = Array.from({ length: 200 }, (_, index) => ({ path: `s${index}`, id: `s${index}`, tags }))
  const catalog = catalogOfWorld({ team: { skills } })

  for (const uri of [INDEX, 'resource://catalog/skills/s7']) {
    const asked = announcedBytes(catalog, FORMS, { method: 'resources/read', params: { uri } })
    expect(asked).toBeGreaterThan(Buffer.byteLength(await textOf(catalog, uri)))
  }
})

test('whoever waits for a document hears that it went with a skill that only the tools offer', () => {
  const forms = formsOf({ contract: { docs: { ...DOCS_OF_TEAM, root: 'docs' } } })
  const team = { skills: [{ path: 'p', id: 'p', standing: 'tools' } as const], docs: { 'p/SKILL.md': '1' } }
  const [before, after] = [team, { ...team, disabled: ['p'] }].map((world) => catalogOfWorld({ team: world }))

  const [events] = published(before!, after!, forms)
  expect([...(events?.updated ?? [])]).toEqual(['resource://docs/p/SKILL.md'])
})

test('an icon that was stored with its fields in another order is the same', () => {
  const [src, mimeType, sizes] = ['https://example.com/i.png', 'image/png', ['48x48']]
  const [before, after] = [
    { src, mimeType, sizes },
    { sizes, mimeType, src },
  ].map((icon) => catalogOfWorld({ team: { skills: [{ path: 'a', id: 'a', icons: [icon] }] } }))

  expect(published(before!, after!, FORMS).filter(({ lists }) => lists.includes('contract'))).toEqual([])
})

test('the index of a source that is held to the contract is there while no skill is in it, listed and read', async () => {
  const catalog = catalogOfWorld({ team: { docs: { 'x.md': 'x' } } })

  expect(await idsIn(catalog)).toEqual([])
  expect(await urisListed(catalog, FORMS)).toEqual([INDEX])
})

test('a name that no URI may hold is no document, and in no list', async () => {
  const forms = (list: 'files' | 'skills') => formsOf({ resources: { list }, contract: { ofSkills: false } })
  const docs = { 'a.md': 'A', 'b\u0007.md': 'B', 'c\\d.md': 'C', 'e.MD': 'E', 'f.txt': 'F', 'g h%20.md': 'G' }
  const catalog = catalogOfWorld({ team: { docs } })

  expect(await urisListed(catalog, forms('files'))).toEqual([
    'resource://docs/a.md',
    'resource://docs/e.MD',
    'resource://docs/g%20h%2520.md',
  ])
  expect(await urisListed(catalog, forms('skills'))).toEqual([])
})

describe('whatever becomes of the skills and docs of two sources', () => {
  const law = (check: (before: Catalog, after: Catalog, forms: Forms) => Promise<void>) =>
    fc.asyncProperty(WORLD, WORLD, ANY_FORMS, async (before, after, forms) =>
      check(catalogOfWorld(before), catalogOfWorld(after), forms),
    )

  test('what is told of is exactly what reads otherwise, and the list exactly where it says something else', async () => {
    const seen = { updated: 0, same: 0, listChanged: 0, contractOnly: 0 }
    const holds = law(async (before, after, forms) => {
      const events = published(before, after, forms)

      const [was, is] = await Promise.all([before, after].map((catalog) => repliesOf(catalog, forms)))
      const changed = [...was!.keys()].filter((uri) => was!.get(uri) !== is!.get(uri))
      expect(
        events
          .flatMap(({ updated }) => [...updated])
          .filter(isOurs)
          .toSorted(),
      ).toEqual(changed.toSorted())
      const isListed = events.some(({ lists }) => lists.some((part) => part !== 'prompts'))
      expect(isListed).toBe((await listsIn(before, forms)) !== (await listsIn(after, forms)))
      // Whoever is not shown the family is told of a list only where that is another for them.
      const theirs = formsFor({ id: 'x', scopes: new Set<Scope>(['skills']) }, forms)
      const isTheirs = (await listsIn(before, theirs)) !== (await listsIn(after, theirs))
      expect(events.some(({ lists }) => lists.includes('skills'))).toBe(isTheirs)

      seen.updated += changed.length
      seen.same += was!.size - changed.length
      seen.listChanged += isListed ? 1 : 0
      seen.contractOnly += isListed && !isTheirs ? 1 : 0
    })
    await fc.assert(holds, { numRuns: 600 })

    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10)
  })

  test('nothing is listed that cannot be read, with the size and the type of the list', async () => {
    const holds = law(async (_, catalog, forms) => {
      for (const { uri, size, mimeType } of (await resourcesOf(catalog, forms)).filter(({ uri }) => isOurs(uri))) {
        const [content] = (await read(catalog, uri, forms)).contents
        expect([undefined, Buffer.byteLength(content.text)]).toContain(size)
        expect(content).toMatchObject({ uri, mimeType })
      }
    })
    await fc.assert(holds, { numRuns: 200 })
  })

  test('whoever is not shown the family is answered as if there were none', async () => {
    const holds = law(async (_, catalog) => {
      const without = formsFor({ id: 'x', scopes: new Set<Scope>(['skills', 'tools']) }, FORMS)
      expect(await listsIn(catalog, without)).not.toContain('resource://')
      for (const uri of URIS) {
        expect((await refusalOf(catalog, uri, without)).message).toMatch(
          /^Resource not found: nothing of resource:\/\/ is served to this client/,
        )
      }
    })
    await fc.assert(holds, { numRuns: 100 })
  })
})

test('the forms of a caller without the scope have a digest of their own, so that no cursor leads across', () => {
  const without = formsFor({ id: 'x', scopes: new Set<Scope>(['skills']) }, FORMS)
  const off = formsOf({ contract: false })

  expect(without.digest).not.toBe(FORMS.digest)
  expect(formsFor(undefined, FORMS)).toBe(FORMS)
  expect(formsFor({ id: 'x', scopes: new Set<Scope>(['skills', 'contract']) }, FORMS)).toBe(FORMS)
  expect(formsFor({ id: 'x', scopes: new Set<Scope>(['skills']) }, off)).toBe(off)
})

const IDS = ['a', 'b']
const REFS = ['r', 's']
const PATHS = ['x.md', 'y/x.md', 'z.txt', 'p/SKILL.md', 'p/x.md']

/** Whatever of the family there can be in a world. */
const URIS = [
  INDEX,
  ...IDS.flatMap((id) => [
    `resource://catalog/skills/${id}`,
    `resource://skills/${id}/document`,
    ...REFS.map((ref) => `resource://skills/${id}/references/${ref}`),
  ]),
  ...PATHS.map((path) => `resource://docs/${path}`),
]

function isOurs(uri: string): boolean {
  return uri.startsWith('resource://')
}

const TEXT = fc.constantFrom('1', '2')

const REFERENCE = fc.record({
  text: TEXT,
  mimeType: fc.constantFrom('text/markdown', 'text/plain'),
  title: fc.constantFrom('T', 'U'),
})

const SKILL: fc.Arbitrary<SkillWorld> = fc.record(
  {
    path: fc.constantFrom('p', 'q'),
    id: fc.constantFrom(...IDS),
    body: TEXT,
    description: TEXT,
    standing: fc.constantFrom('served', 'served', 'served', 'unlisted', 'withheld'),
    contract: fc.constantFrom(true, true, true, false),
    version: TEXT,
    tags: fc.subarray(['t', 'u']),
    dependsOn: fc.subarray(IDS),
    icons: fc.constantFrom([], [], [{ src: 'https://example.com/i.png' }]),
    references: fc.dictionary(fc.constantFrom(...REFS), REFERENCE),
  },
  { requiredKeys: ['path', 'id'] },
)

const SOURCE = fc.record(
  {
    skills: fc.uniqueArray(SKILL, { selector: ({ path }) => path, maxLength: 2 }),
    docs: fc.dictionary(fc.constantFrom(...PATHS), TEXT),
    disabled: fc.subarray(['p', 'q']),
  },
  { requiredKeys: ['skills'] },
)

const WORLD: fc.Arbitrary<World> = fc.record({ team: SOURCE, more: SOURCE }, { requiredKeys: ['team'] })

const ALL_FILES = { list: 'files' } as const

const ANY_FORMS = fc.constantFrom(
  FORMS,
  formsOf({ resources: ALL_FILES }),
  formsOf({ resources: ALL_FILES, contract: { docs: { ...DOCS_OF_TEAM, root: 'docs' } } }),
  formsOf({ resources: ALL_FILES, contract: { ofSkills: false, docs: undefined } }),
  formsOf({ contract: false }),
)

/** What listeners hear of the way from one to the other. */
function published(before: Catalog, after: Catalog, forms: Forms): Events[] {
  const registry = new Registry()
  registry.publish(before)
  const heard: Events[] = []
  using _listening = listenForEvents({ registry, forms }, (events) => heard.push(events))
  registry.publish(after)
  return heard
}

/** What reads of all those URIs bring; the media type is no part of the bytes. */
async function repliesOf(catalog: Catalog, forms: Forms): Promise<ReadonlyMap<string, string | undefined>> {
  const replies = new Map<string, string | undefined>()
  for (const uri of URIS) {
    const reply = await read(catalog, uri, forms).catch((error: unknown) => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    replies.set(uri, reply?.contents[0].text)
  }
  return replies
}

async function read(catalog: Catalog, uri: string, forms = FORMS): Promise<any> {
  return readResource(catalog, uri, { era: 'modern' }, { forms, read: readWorld })
}

async function textOf(catalog: Catalog, uri: string): Promise<string> {
  return (await read(catalog, uri)).contents[0].text
}

async function idsIn(catalog: Catalog): Promise<string[]> {
  return JSON.parse(await textOf(catalog, INDEX)).map(({ id }: { id: string }) => id)
}

async function refusalOf(catalog: Catalog, uri: string, forms = FORMS): Promise<RpcError> {
  const answer: unknown = await read(catalog, uri, forms).catch((error: unknown) => error)
  if (answer instanceof RpcError) return answer
  throw new Error(`${uri} was read: ${JSON.stringify(answer)}`)
}

async function resourcesOf(catalog: Catalog, forms: Forms): Promise<any[]> {
  return Object(await listResources(catalog, forms, undefined, { entries: 1_000, bytes: 2 ** 20 })).resources
}

async function urisListed(catalog: Catalog, forms: Forms): Promise<string[]> {
  return (await resourcesOf(catalog, forms)).map(({ uri }) => uri)
}

function templatesListed(catalog: Catalog, forms: Forms): string[] {
  return Object(listTemplates(catalog, forms, undefined)).resourceTemplates.map(
    ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
  )
}

/** Both lists, without the templates of the sources, of which a list of resources has never told. */
async function listsIn(catalog: Catalog, forms: Forms): Promise<string> {
  const templates = templatesListed(catalog, forms).filter(isOurs)
  // As the list of a client that remembers no order.
  return JSON.stringify([
    (await resourcesOf(catalog, forms)).map((resource) => JSON.stringify(resource)).toSorted(),
    templates,
  ])
}
