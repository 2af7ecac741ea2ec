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
  ['a title with the other quotes in it', `![a](a.png "Don't ${'x'.repeat(150)}")`, ['image text 1 156']],
  [
    'a title with its own quotes escaped',
    `![a](a.png "${'x '.repeat(80)}\\" ${'x '.repeat(80)}")`,
    ['image text 1 322'],
  ],
  ['a title in parentheses', `![a](<a b.png> (${'x'.repeat(151)}))`, ['image text 1 151']],
  ['a text with brackets in it', `![see [1] ${'x'.repeat(150)}](a.png)`, ['image text 1 158']],
  ['a text with escaped brackets in it', `![\\] ${'x'.repeat(150)}](a.png)`, ['image text 1 153']],
  ['a text longer than anybody writes', `![${'x'.repeat(5_000)}](a.png)`, ['image text 1 5000']],
  ['the text of an image whose address stands elsewhere', `![${'x'.repeat(150)}][a]`, ['image text 1 150']],
  ['an image in what is no address', `![a](b![${'x'.repeat(150)}\n](c) d`, ['image text 1 150']],
  ['a bracket that an empty line leaves open', `![a\n \n${'x'.repeat(150)}](a.png)`, []],
  ['nothing of that kind', `${LONG} --> <! -- [a](b)`, []],
])('%s', (_, text, expected) => {
  const found = unrenderedIn(Buffer.from(text))

  expect(found.map(({ what, line, characters }) => `${what} ${line} ${characters}`)).toEqual(expected)
})

test('of thousands the first few are told', () => {
  expect(unrenderedIn(Buffer.from(`<!-- ${LONG} -->\n`.repeat(5_000)))).toHaveLength(16)
})

// One that looks at the rest of the text for each would take hours for these.
test.each([
  '<!-- ',
  '<!--\n',
  '![',
  '![]',
  '![](',
  '![](<',
  '![](<![](x',
  '![]( ',
  '![](a ',
  '![](a "',
  "![](a '",
  '![](a (',
  '![](a \\',
  '![]\n',
  '[',
  ']',
  '\\',
  '\n',
])('a quarter of a megabyte of %j is searched', (part) => {
  const text = part.repeat(2 ** 18 / part.length)

  for (const end of ['', '![](a', ' '.repeat(2 ** 18), `"${'>'.repeat(2 ** 18)}`])
    expect(unrenderedIn(Buffer.from(`<!-- -->![${text}${end}`)).length).toBeLessThan(17)
})
