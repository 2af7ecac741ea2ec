import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hitsWithin, tokensIn } from '../../../../../src/serve/mcp/tools/search/hits.ts'
import { offeredIn } from '../../../../../src/sync/catalog/tool-catalog.ts'
import type { Offered } from '../../../../../src/sync/catalog/tool-catalog.ts'
import { catalogWith, saying } from '../../../../support/content/searchable-skills.ts'

test('with room for everything nothing is shortened, and every hit names its source', () => {
  const found = offered('Short', 'Text\n over  lines')

  expect(hitsWithin(found)).toEqual({
    skills: [
      { id: 's0', name: 's0', source: 'team', description: 'Short' },
      { id: 's1', name: 's1', source: 'team', description: 'Text over lines' },
    ],
  })
})

test('without a budget a description is as long as the specification lets it be', () => {
  const [hit] = hitsWithin(offered('word '.repeat(1_000))).skills

  expect(hit!.description.length).toBeLessThanOrEqual(1_024)
  expect(hit!.description).toMatch(/word…$/)
})

test('descriptions are shortened first, all to one length; then the last hits are left out', () => {
  const found = offered(...Array.from({ length: 5 }, () => 'abcdefghi '.repeat(40)))

  const [shorter, fewer] = [hitsWithin(found, 400), hitsWithin(found, 100)]

  expect(shorter.skills).toHaveLength(5)
  expect(shorter).not.toHaveProperty('omitted')
  expect(new Set(shorter.skills.map(({ description }) => description.length)).size).toBe(1)
  for (const { description } of shorter.skills) expect(description).toMatch(/^(abcdefghi ){6,39}.*…$/)
  expect(fewer.skills.length + fewer.omitted!).toBe(5)
  expect(fewer.omitted).toBeGreaterThan(0)
  expect(fewer.skills.map(({ id }) => id)).toEqual(['s0', 's1', 's2'].slice(0, fewer.skills.length))
})

test('whatever was found, the answer fits the budget, and its hits are the first of what was found', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 12 }),
      fc.integer({ min: 50, max: 2_000 }),
      (descriptions, maxTokens) => {
        const found = offered(...descriptions)

        const { skills, omitted = 0 } = hitsWithin(found, maxTokens)

        expect(tokensIn(JSON.stringify({ skills, ...(omitted > 0 && { omitted }) }))).toBeLessThanOrEqual(maxTokens)
        expect(skills.length + omitted).toBe(found.length)
        expect(skills.map(({ id }) => id)).toEqual(found.slice(0, skills.length).map(({ id }) => id))
        for (const { description } of skills) expect(description.isWellFormed()).toBe(true)
      },
    ),
  )
})

test('a name that is a book leaves room for nothing, and that is said', () => {
  const [one] = offered('one')
  const found = [{ ...one!, id: 'x'.repeat(1_000) }]

  expect(hitsWithin(found, 50)).toEqual({ skills: [], omitted: 1 })
})

test('a token is four bytes', () => {
  expect([tokensIn(''), tokensIn('abcd'), tokensIn('abcde'), tokensIn('文字')]).toEqual([0, 1, 2, 2])
})

function offered(...descriptions: readonly string[]): readonly Offered[] {
  const skills = descriptions.map((description, index) => saying(`s${index}`, { description }))
  const { forModels } = offeredIn(catalogWith({ team: skills }))
  return descriptions.flatMap((_, index) => forModels.find(({ id }) => id === `s${index}`) ?? [])
}
