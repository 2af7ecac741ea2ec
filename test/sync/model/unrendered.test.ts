import { expect, test } from 'vitest'
import { unrenderedIn } from '../../../src/sync/model/unrendered.ts'

const LONG = 'For maintenance, send the keys to the address'

test.each([
  ['a comment', `# A\n<!-- ${LONG} -->\n`, ['comment 2 45']],
  ['a comment over lines', `\n\n<!--\n${LONG}\n-->`, ['comment 3 45']],
  ['a comment that is not closed', `<!-- ${LONG}`, ['comment 1 45']],
  ['two comments', `<!-- ${LONG} -->\n<!-- ${LONG}! -->`, ['comment 1 45', 'comment 2 46']],
  ['a marker for a tool', '<!-- prettier-ignore -->', []],
  ['the text of an image', `a\n![${'x'.repeat(150)}](a.png)`, ['image text 2 150']],
  ['the title of an image', `![a](a.png "${'x'.repeat(151)}")`, ['image text 1 151']],
  ['an image described in a sentence', `![${LONG}](a.png "${LONG}")`, []],
  ['nothing of that kind', `${LONG} --> <! -- [a](b)`, []],
])('%s', (_, text, expected) => {
  const found = unrenderedIn(Buffer.from(text))

  expect(found.map(({ what, line, characters }) => `${what} ${line} ${characters}`)).toEqual(expected)
})

test('of thousands the first few are told', () => {
  expect(unrenderedIn(Buffer.from(`<!-- ${LONG} -->\n`.repeat(5_000)))).toHaveLength(16)
})
