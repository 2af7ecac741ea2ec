import { expect, test } from 'vitest'
import { methodsOf } from '../../../../src/serve/mcp/core/methods.ts'
import { listedResources } from '../../../../src/serve/mcp/resources/resources.ts'
import { readyFor } from '../../../../src/serve/mcp/tools/prepare.ts'
import { PROMPTS } from '../../../../src/serve/mcp/tools/prompts.ts'
import { skillPrompts } from '../../../../src/serve/mcp/tools/skill-prompts.ts'
import { skillTools } from '../../../../src/serve/mcp/tools/tools.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { turnsDuring } from '../../../support/loop-turns.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'
import { sample, snapshotOf } from '../../../sync/store/samples.ts'

const SKILLS = Array.from({ length: 10_000 }, (_, index) => sample(`skill-${index}`, { 'SKILL.md': '', 'a.md': '' }))
const FORMS = formsOf({ skillPrompts: true, resources: { list: 'files', synthetic: 'list' } })
const SKILLS_CATALOG = 'skills-catalog'
const ASKED = [
  { method: 'tools/call', params: { name: 'list_skills', arguments: {} } },
  { method: 'tools/call', params: { name: 'get_skill', arguments: { id: 'skill-1' } } },
  { method: 'tools/call', params: { name: 'read_skill_file', arguments: { id: 'no-such-skill', path: 'a.md' } } },
  { method: 'prompts/get', params: { name: SKILLS_CATALOG } },
  { method: 'prompts/get', params: { name: 'skill-1' } },
]

test.each(ASKED)(
  'the loop turns while that is made which the size of the first answer to $method $params.name is read off',
  async (message) => {
    expect(await turnsDuring(readyFor(catalog(), FORMS, message, signalled))).toBeGreaterThan(1)
  },
)

test.each([...ASKED.filter(({ params }) => params.name !== SKILLS_CATALOG), { method: 'prompts/list', params: {} }])(
  'the loop turns while $method $params.name is answered from a catalog that came while its sources were looked at',
  async ({ method, params }) => {
    const registry = new Registry()
    const asked = methodsOver(registry, () => registry.publish(catalog()))[method]?.(params, { era: 'modern' }, NEVER)

    expect(await turnsDuring(Promise.resolve(asked))).toBeGreaterThan(1)
  },
)

test('all messages of a batch share one listener on their connection', async () => {
  const message = ASKED[0]
  let signals = 0

  await readyFor(catalog(), FORMS, [message, message, message], () => {
    signals += 1
    return NEVER
  })

  expect(signals).toBe(1)
})

test('a client that leaves is waited for no more, and what it asked for is made for the others', async () => {
  const [asked, leaving] = [catalog(), new AbortController()]
  const [message] = ASKED

  const left = readyFor(asked, FORMS, [message, message], () => leaving.signal)
  const stayed = readyFor(asked, FORMS, message, signalled)
  leaving.abort(new Error('it left'))

  await expect(left).rejects.toThrow('it left')
  expect(await turnsDuring(stayed)).toBeGreaterThan(1)
})

test('the loop turns while the list of resources is made, which is made once for each catalog and each way to list', async () => {
  const listed = catalog()

  const turns = await turnsDuring(listedResources(listed, FORMS))

  expect(turns).toBeGreaterThan(1)
  expect(await listedResources(listed, { ...FORMS })).toBe(await listedResources(listed, FORMS))
  expect(await listedResources(listed, formsOf())).toHaveLength(SKILLS.length + 1)
})

test('the loop turns while the index is made of skills whose archives are known', async () => {
  const forms = formsOf({ archives: ['zip'] })
  const read = async (): Promise<Uint8Array> => Buffer.alloc(0)
  const [first, second] = [catalog(), catalog()]

  const text = await forms.index?.text(first, read)
  const again = Promise.resolve(forms.index?.text(second, read))

  expect(await turnsDuring(again)).toBeGreaterThan(1)
  expect(await again).toBe(text)
})

test('a list of resources that could not be made is made for the next request', async () => {
  const listed = catalogOf(snapshotOf(...SKILLS.slice(0, 1)))
  const failing = { ...FORMS, families: [Object.create(FORMS.families[0]!, { list: { value: fail } })] }

  await expect(listedResources(listed, failing)).rejects.toThrow('it fails')

  expect(await listedResources(listed, FORMS)).not.toHaveLength(0)
})

function fail(): never {
  throw new Error('it fails')
}

/** Each look at the sources does this. */
function methodsOver(registry: Registry, onLook: () => void): ReturnType<typeof methodsOf> {
  const host = { look: async () => (onLook(), 0) }
  const pages = { entries: 100, bytes: 2 ** 20 }
  const serving = { registry, pages, read: async () => Buffer.alloc(0) }
  const surfaces = [skillTools(serving, host), PROMPTS, skillPrompts(serving, host)]
  return methodsOf({ ...serving, cache: { ttlMs: 0, cacheScope: 'public' }, forms: FORMS, surfaces })
}

const NEVER = new AbortController().signal

function signalled(): AbortSignal {
  return NEVER
}

function catalog(): Catalog {
  return catalogOf(snapshotOf(...SKILLS))
}
