import { expect, test } from 'vitest'
import type { PageLimits } from '../../../../src/serve/mcp/rpc/pagination.ts'
import { skillList } from '../../../../src/serve/mcp/tools/skill-list.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { catalogWith, saying } from '../../../support/content/searchable-skills.ts'

const PAGES: PageLimits = { entries: 1_000, bytes: 2 ** 20 }
const MANY = catalogWith({
  team: Array.from({ length: 25 }, (_, index) => saying(`s${index}`, { description: 'Some' })),
})

test('a list that fits a page is whole, and is an array and nothing else', () => {
  const { content, ...rest } = skillList(MANY, {}, PAGES)

  expect(content).toHaveLength(1)
  expect(JSON.parse(listed(MANY))).toHaveLength(25)
  expect(rest).toEqual({})
})

test.each([
  ['so many at a time', { limit: 7 }, PAGES, 4],
  ['one at a time', { limit: 1 }, PAGES, 25],
  ['by size', {}, { entries: 1_000, bytes: 700 }, 3],
  ['by size, where one is larger than a page', {}, { entries: 1_000, bytes: 1 }, 25],
])('all pages together are the whole list: %s', (_, given, limits, count) => {
  const pages = walk(MANY, given, limits)

  expect(pages.flat()).toEqual(JSON.parse(listed(MANY)))
  expect(pages).toHaveLength(count)
})

test('a page says how to go on, to models in words and to programs as a cursor', () => {
  const { content, structuredContent }: any = skillList(MANY, { limit: 2 }, PAGES)

  expect(content[1].text).toContain(JSON.stringify(structuredContent.nextCursor))
  expect(structuredContent.skills).toEqual(JSON.parse(content[0].text))
})

test('a list that is longer than a model should read comes in pages, the first with the number of all and the search', () => {
  const many = catalogWith({
    team: Array.from({ length: 1_000 }, (_, index) => saying(`s${index}`, { description: 'Some '.repeat(30) })),
  })
  const { content, structuredContent }: any = skillList(many, {}, PAGES)
  const pages = walk(many, {}, PAGES)

  expect(content[1].text).toContain(`${structuredContent.skills.length} of 1000 skills`)
  expect(content[1].text).toContain('search_skills')
  expect(structuredContent.total).toBe(1_000)
  for (const page of pages) expect(JSON.stringify(page).length).toBeLessThanOrEqual(4 * 8_000)
  for (const page of pages.slice(0, -1)) expect(JSON.stringify(page).length).toBeGreaterThan(4 * 7_000)
  expect(new Set(pages.flat().map((row) => JSON.stringify(row))).size).toBe(1_000)
  expect(walk(many, { limit: 1_000 }, PAGES)).toHaveLength(1)
  expect(
    skillList(many, {}, PAGES, false)
      .content.map((block) => JSON.stringify(block))
      .join(),
  ).not.toContain('search_')
})

test('copies of one skill are one entry with the ids of its places, and one of the number of all', () => {
  const pdf = saying('pdf', { description: 'Fill in forms' })
  const other = saying('pdf', { description: 'Fill in forms' }, '# Others\n')
  const catalog = catalogWith({ one: [pdf], two: [pdf], three: [other] })
  const { structuredContent }: any = skillList(catalog, { limit: 1 }, PAGES)

  expect(JSON.parse(listed(catalog))).toEqual([
    { id: 'one/pdf', name: 'pdf', source: 'one', places: ['one/pdf', 'two/pdf'], description: 'Fill in forms' },
    { id: 'three/pdf', name: 'pdf', source: 'three', description: 'Fill in forms' },
  ])
  expect(structuredContent.total).toBe(2)
})

test('a page keeps to its size where each skill has more places than are named', () => {
  const skills = Array.from({ length: 300 }, (_, index) => saying(`s${index}`, { description: 'Some '.repeat(20) }))
  const sources = Array.from({ length: 12 }, (_, index) => [`${'long-'.repeat(8)}${index}`, skills] as const)
  const pages = walk(catalogWith(Object.fromEntries(sources)), {}, PAGES)

  expect(pages.flat()).toHaveLength(300)
  expect(pages.flat()).toContainEqual(expect.objectContaining({ places: expect.objectContaining({ length: 8 }) }))
  for (const page of pages) expect(JSON.stringify(page).length).toBeLessThanOrEqual(4 * 8_000)
})

test('a cursor of another catalog, or none of ours, is told to begin again', () => {
  const { structuredContent }: any = skillList(MANY, { limit: 2 }, PAGES)
  const other = catalogWith({ team: [saying('a', { description: 'A' }), saying('b', { description: 'B' })] })

  for (const cursor of [structuredContent.nextCursor, 'nonsense', '']) {
    expect(skillList(other, { cursor }, PAGES)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('without a cursor') }],
    })
  }
})

test('arguments of another type are a fault of the protocol, and a limit of nothing is told', () => {
  for (const given of [{ cursor: 7 }, { limit: '7' }, { limit: 1.5 }])
    expect(() => skillList(MANY, given, PAGES)).toThrow(expect.objectContaining({ code: -32602 }))
  expect(skillList(MANY, { limit: 0 }, PAGES)).toMatchObject({ isError: true })
})

test.each([true, 'true', 'True', 'yes', 'on', 1])(
  'a skill that only people call (%j) is not named to a model',
  (disabled) => {
    const deploy = saying('deploy', { description: 'Go live', 'disable-model-invocation': disabled })
    const catalog = catalogWith({ team: [deploy, saying('pdf', { description: 'Forms' })] })

    expect(JSON.parse(listed(catalog))).toMatchObject([{ id: 'pdf' }])
  },
)

test.each([false, 'false', 'no', null, 2, 'sometimes'])('any other value (%j) hides nothing', (disabled) => {
  const catalog = catalogWith({
    team: [saying('deploy', { description: 'Go live', 'disable-model-invocation': disabled })],
  })

  expect(JSON.parse(listed(catalog))).toMatchObject([{ id: 'deploy' }])
})

/** The rows of each page. */
function walk(catalog: Catalog, given: object, limits: PageLimits): object[][] {
  const pages: object[][] = []
  for (let cursor: string | undefined; ;) {
    const answer: any = skillList(catalog, { ...given, ...(cursor !== undefined && { cursor }) }, limits)
    pages.push(JSON.parse(answer.content[0].text))
    cursor = answer.structuredContent.nextCursor
    if (cursor === undefined) return pages
  }
}

/** The first text of an answer that is the whole list. */
function listed(catalog: Catalog): string {
  const [first] = skillList(catalog, {}, PAGES).content
  return first !== undefined && 'text' in first ? first.text : ''
}
