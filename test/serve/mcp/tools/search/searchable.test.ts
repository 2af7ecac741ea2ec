import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../../src/base/json-value.ts'
import { headingsIn } from '../../../../../src/serve/mcp/tools/search/search-documents.ts'
import { searchableOf } from '../../../../../src/serve/mcp/tools/search/searchable.ts'
import { offeredIn } from '../../../../../src/sync/catalog/tool-catalog.ts'
import { catalogWith, saying } from '../../../../support/content/searchable-skills.ts'

test('tags are what collections write: a text or a list, at the top, below metadata or in the block of the contract', () => {
  const places: readonly JsonObject[] = [
    { tags: ['one', 'two'] },
    { tags: 'one, two' },
    { keywords: 'one', triggers: ['two'] },
    { category: 'one', metadata: { tags: ['two'] } },
    { metadata: { tags: 'one', keywords: ['two', 3, null] } },
    { 'x-personal-mcp': { tags: ['one', 'two'] } },
  ]

  for (const frontmatter of places) {
    expect(searched(frontmatter).tags.split(/[\n,] ?/)).toEqual(['one', 'two'])
  }
})

test('fields of another kind than text are as good as absent', () => {
  for (const value of [7, true, null, { other: 'no' }, [['no']]]) {
    expect(searched({ tags: value, when_to_use: value, metadata: value })).toMatchObject({ tags: '', whenToUse: '' })
  }
})

test('no field takes more than its share, whatever authors write', () => {
  const long = 'word '.repeat(2_000)

  const all = searched({ description: long, when_to_use: long, tags: Array.from({ length: 500 }, () => long) })

  expect(JSON.stringify(all).length).toBeLessThan(6_000)
  expect(headingsIn(Buffer.from(`# ${long}\n`.repeat(500))).length).toBeLessThan(5_000)
})

test('headings are those of Markdown, and what looks like one in code is none', () => {
  const document = [
    '---',
    'name: a',
    '# no heading: a comment',
    '---',
    '# One',
    'text # no',
    '   ## Two ##',
    '    # indented code',
    '#hashtag',
    '```sh',
    '# a comment',
    '~~~',
    '# still one',
    '```',
    '~~~~',
    '# a comment',
    '~~~',
    '# still one',
    '~~~~',
    '###### Three\r',
    '####### seven',
  ]

  const headings = headingsIn(Buffer.from(document.join('\n')))

  expect(headings.split('\n')).toEqual(['One', 'Two ##', 'Three'])
})

test('a document that is no text, or has no frontmatter, breaks nothing', () => {
  expect(headingsIn(Buffer.from([0x23, 0x20, 0xff]))).toBe('')
  expect(headingsIn(Buffer.from('# Only this'))).toBe('Only this')
  expect(headingsIn(Buffer.from(''))).toBe('')
})

function searched(frontmatter: JsonObject) {
  const { forModels } = offeredIn(catalogWith({ team: [saying('a', { description: 'plain', ...frontmatter })] }))
  return searchableOf(forModels[0]!)
}
