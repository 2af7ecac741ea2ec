import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ReadContent } from '../../../../src/serve/content.ts'
import { ResponseCache } from '../../../../src/serve/mcp/core/response-cache.ts'
import { readResource } from '../../../../src/serve/mcp/resources/resources.ts'
import { TextCache } from '../../../../src/serve/mcp/rpc/text-cache.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { catalogWith, saying } from '../../../support/content/searchable-skills.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { turnsDuring } from '../../../support/loop-turns.ts'
import { catalogsOf } from '../../../sync/catalog/catalogs.ts'

const INDEX = 'skill://index.json'
const PAGES = { entries: 10, bytes: 2 ** 20 }
const CACHE = { ttlMs: 0, cacheScope: 'private' } as const
const DOCUMENT = 'skill://team/a/SKILL.md'

/** Answers from the catalog of one skill, whose files are read by this. */
async function answersFrom(read: ReadContent) {
  const registry = new Registry()
  const [catalog, next] = await catalogsOf([
    { 'a/SKILL.md': skillText('a'), 'a/big.bin': 'x'.repeat(2 ** 20 + 1) },
    { 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') },
  ])
  registry.publish(catalog!)
  const answers = new ResponseCache({ registry, read, forms: formsOf(), pages: PAGES, cache: CACHE })
  const ask = async (method: string, params: object, era: 'legacy' | 'modern' = 'legacy'): Promise<any> => {
    const pieces = await answers.resultOf(method, { ...params }, { era })
    return pieces && JSON.parse(Buffer.concat(pieces).toString())
  }
  return { ask, publishNext: () => registry.publish(next!) }
}

test('all who ask after a change are answered by one read of the disk', async () => {
  let reads = 0
  const { ask } = await answersFrom(async () => {
    reads += 1
    return Buffer.from(skillText('a'))
  })

  const burst = Array.from({ length: 500 }, (_, index) =>
    ask('resources/read', { uri: DOCUMENT }, index % 2 === 0 ? 'legacy' : 'modern'),
  )
  const texts = (await Promise.all(burst)).map(({ contents }) => contents[0].text)
  const later = await ask('resources/read', { uri: DOCUMENT })

  expect(new Set(texts)).toEqual(new Set([skillText('a')]))
  expect(later.contents[0].text).toBe(skillText('a'))
  expect(reads).toBe(1)
})

test('bytes that are not those of the listing are neither answered nor kept', async () => {
  let stored: Buffer | undefined = Buffer.from(skillText('a').replace('a', 'b'))
  const { ask } = await answersFrom(async () => stored)

  const damaged = await ask('resources/read', { uri: DOCUMENT })
  stored = undefined
  const gone = await ask('resources/read', { uri: DOCUMENT })
  stored = Buffer.from(skillText('a'))
  const mended = await ask('resources/read', { uri: DOCUMENT })

  expect([damaged, gone]).toEqual([undefined, undefined])
  expect(mended.contents[0].text).toBe(skillText('a'))
})

test('a file over 1 MiB is left to the core, unread', async () => {
  let reads = 0
  const { ask } = await answersFrom(async () => {
    reads += 1
    return undefined
  })

  const answer = await ask('resources/read', { uri: 'skill://team/a/big.bin' })

  expect([answer, reads]).toEqual([undefined, 0])
})

test('the index is answered with the same text as by the core, whatever its characters, and the loop turns meanwhile', async () => {
  // Far more than is put into JSON at one go, however fast the machine.
  const skills = Array.from({ length: 10_000 }, (_, index) =>
    saying(`skill-${index}`, { description: `"\\ é ${'😀'.repeat(index % 7)}${'x'.repeat(1_000)}` }),
  )
  const registry = new Registry()
  registry.publish(catalogWith({ team: skills }))
  const serving = { registry, read: async () => undefined, forms: formsOf(), pages: PAGES, cache: CACHE }
  const { contents }: any = await readResource(registry.catalog, INDEX, { era: 'modern' }, serving)

  const asked = new ResponseCache(serving).resultOf('resources/read', { uri: INDEX }, { era: 'modern' })
  const turns = await turnsDuring(asked)

  expect(JSON.parse(Buffer.concat((await asked) ?? []).toString()).contents).toEqual(contents)
  expect(turns).toBeGreaterThan(1)
})

test('what is said of skills is that of the catalog served now', async () => {
  const { ask, publishNext } = await answersFrom(async () => undefined)
  const before = await ask('skills/list', {})
  const none = await ask('skills/get', { uri: 'skill://team/b/SKILL.md' })

  publishNext()

  expect(before.skills).toHaveLength(1)
  expect(none).toBeUndefined()
  expect((await ask('skills/list', {})).skills).toHaveLength(2)
  const { skill } = await ask('skills/get', { uri: 'skill://team/b/SKILL.md' })
  expect(skill.resources[0].digest).toBe(`sha256:${createHash('sha256').update(skillText('b')).digest('hex')}`)
})

test('texts beyond the bound go, those asked for least recently first', async () => {
  const cache = new TextCache(16_000)
  const text = 'x'.repeat(700)
  for (const key of ['a', 'b', 'c']) await cache.add(key, async () => text)

  for (let index = 0; index < 14; index += 1) {
    cache.get('a')
    await cache.add(`more ${index}`, async () => text)
  }

  expect([cache.get('a')?.toString(), cache.get('b'), cache.get('more 13')?.toString()]).toEqual([
    text,
    undefined,
    text,
  ])
})

test('a text that would drive out most of the others is made, and not kept', async () => {
  const cache = new TextCache(16_000)

  const made = await cache.add('large', async () => 'x'.repeat(1_001))

  expect(made).toHaveLength(1_001)
  expect(cache.get('large')).toBeUndefined()
})

test('a text that could not be made is made for who asks next', async () => {
  const cache = new TextCache(16_000)
  const failed = cache.add('key', async () => {
    throw new Error('no disk')
  })
  await expect(failed).rejects.toThrow('no disk')

  expect((await cache.add('key', async () => 'text'))?.toString()).toBe('text')
})
