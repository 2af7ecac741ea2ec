import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Searchable } from '../../../../../src/serve/mcp/tools/search/searchable.ts'
import { SkillIndex } from '../../../../../src/serve/mcp/tools/search/skill-index.ts'

const LIBRARY = [
  skill('pdf-processing', { description: 'Extract text and tables from documents, fill forms' }),
  skill('invoices', { description: 'Write bills for customers', whenToUse: 'When somebody owes us money' }),
  skill('release-notes', { description: 'Tell what changed', tags: 'changelog\nsemver' }),
  skill('charts', { description: 'Draw figures', headings: 'Histograms\nScatter plots' }),
  skill('reports', { description: 'Quarterly figures for the board, as a PDF' }),
]

describe('a skill is found', () => {
  const index = SkillIndex.of(LIBRARY)

  test.each([
    ['by its name', 'pdf-processing', 'pdf-processing'],
    ['by a word of its name, above one that only speaks of it', 'pdf', 'pdf-processing'],
    ['by its description', 'bills', 'invoices'],
    ['by when to use it', 'owes money', 'invoices'],
    ['by a tag', 'semver', 'release-notes'],
    ['by a heading', 'scatter plot', 'charts'],
    ['by another form of a word', 'extracting a table', 'pdf-processing'],
    ['by the beginning of a word', 'histo', 'charts'],
    ['by a word with a letter too few', 'custmers', 'invoices'],
    ['by a word with a letter too many', 'quarterrly', 'reports'],
    ['by a word with two letters in the wrong order', 'tabels', 'pdf-processing'],
    ['by a word with another accent or case', 'PRÓCESSING', 'pdf-processing'],
    ['by a whole sentence', 'could you please help me with the changelog for this release?', 'release-notes'],
  ])('%s', (_, query, id) => {
    expect(index.find(query, 5)[0]).toBe(id)
  })
})

test('the one that is called so comes first, however often another says the word', () => {
  const index = SkillIndex.of([
    skill('loud', { name: 'git git git', description: 'git git git git', tags: 'git' }),
    skill('git', { description: 'Version control' }),
  ])

  expect(index.find('git', 5)).toEqual(['git', 'loud'])
})

test('text without spaces is found by a part of it', () => {
  const index = SkillIndex.of([skill('a', { description: '中文文档处理' }), skill('b', { description: '発票を書く' })])

  expect([index.find('文档', 5), index.find('発票', 5)]).toEqual([['a'], ['b']])
})

test('words that say nothing find nothing beside words that do, and by themselves what has them', () => {
  const index = SkillIndex.of([skill('who', { description: 'the band' }), skill('notes', { description: 'for you' })])

  expect(index.find('notes of the', 5)).toEqual(['notes'])
  expect(index.find('the who', 5)).toEqual(['who'])
})

test.each([
  ['nothing', ''],
  ['blanks', ' \n\t '],
  ['signs', '*?"(){}[]^~:\\/ -- && ||'],
  ['half a pair of surrogates', '\u{d83d}'],
  ['names of what every object has', '__proto__ constructor toString hasOwnProperty'],
])('%s as a query finds nothing, and breaks nothing', (_, query) => {
  const index = SkillIndex.of(LIBRARY)

  expect(index.find(query, 5)).toEqual([])
  expect(index.find('semver', 5)).toEqual(['release-notes'])
})

test('of a query that is a book the beginning counts', () => {
  const index = SkillIndex.of(LIBRARY)

  expect(index.find(`semver ${'x'.repeat(100_000)}`, 5)).toEqual(['release-notes'])
  expect(index.find(`${'filler '.repeat(200)} semver`, 5)).toEqual([])
})

test('a skill can be called like what every object has', () => {
  const index = SkillIndex.of([skill('__proto__'), skill('constructor', { description: 'toString' })])

  expect(index.find('constructor', 5)).toEqual(['constructor'])
  expect(index.find('__proto__', 5)).toEqual(['__proto__'])
})

test('no more are given than were asked for, and equals in the order of their ids', () => {
  const index = SkillIndex.of(['c', 'a', 'b'].map((id) => skill(id, { name: 'same', description: 'alike' })))

  expect([index.find('alike', 2), index.find('alike', 9)]).toEqual([
    ['a', 'b'],
    ['a', 'b', 'c'],
  ])
})

test('an index that came to what it holds step by step answers like one that was made of it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), text: words(), isGone: fc.boolean() })),
      words(),
      (steps, query) => {
        const stepwise = new SkillIndex()
        const held = new Map<string, Searchable>()
        for (const { id, text, isGone } of steps) {
          const one = skill(id, { description: text, headings: text.slice(0, 9) })
          if (isGone) held.delete(id)
          else held.set(id, one)
          if (isGone) stepwise.delete(id)
          else stepwise.set(one)
        }

        const fresh = SkillIndex.of(held.values())

        expect(stepwise.size).toBe(held.size)
        expect(stepwise.find(query, 50)).toEqual(fresh.find(query, 50))
      },
    ),
  )
})

function words(): fc.Arbitrary<string> {
  const word = fc.constantFrom('form', 'from', 'forms', 'report', 'reports', 'reporter', 'table', 'tables', 'stable')
  return fc.array(word, { maxLength: 8 }).map((all) => all.join(' '))
}

function skill(id: string, more: Partial<Searchable> = {}): Searchable {
  return { id, name: id, description: '', whenToUse: '', tags: '', headings: '', ...more }
}
