import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linksIn } from '../../../../src/sync/skill/markdown/markdown-links.ts'

const targetsOf = (text: string): string[] => Array.from(linksIn(text), ({ target }) => target)

/** No search that goes back comes to the end of this many characters before the test is over. */
const HOSTILE = 100_000

describe('the links of a Markdown text', () => {
  test.each([
    ['[a](b.md)', ['b.md']],
    ['![a](b.png "title")', ['b.png']],
    ['[![a](b.png)](c.md)', ['b.png', 'c.md']],
    ["[a](<b c.md> 'title')", ['b c.md']],
    ['[a](b(1).md) (c)', ['b(1).md']],
    [String.raw`[a](b\(1.md)`, ['b(1.md']],
    ['[a](\n  b.md\n  (title))', ['b.md']],
    ['[a][b]\n\n[b]: c.md "title"', ['c.md']],
    ['> [b]: <c d.md>\n\n[ B ]', ['c d.md']],
    ['# [a]\n[a]: b.md\n[c]: d.md', ['b.md']],
    ['[a]\n\n[a]:\n  b.md\n  (title)\n[a]: c.md', ['b.md']],
    [String.raw`[a](b.md "say \"hi\"")`, ['b.md']],
    [`[a](b.md "${'x'.repeat(2_000)}")`, ['b.md']],
    ['> [a](\n> b.md)', ['b.md']],
    ['a <!-- [b](c.md)', ['c.md']],
    ['> <!--\n\n[b](c.md)', ['c.md']],
    ['- ```\n\n[b](c.md)', ['c.md']],
    ['\uFEFF```\n[a](b.md)\n```\n[c](d.md)', ['d.md']],
    ['See <a class="x" href="b.md">b</a> and\n<img src=c.png>', ['b.md', 'c.png']],
    ["<div>\n<a href='b.md'>[c](d.md)</a>\n</div>", ['b.md']],
    ['<https://example.com/a>', ['https://example.com/a']],
    ['| [a](b.md) | `[c](d.md)` |\n| --- | --- |', ['b.md']],
    ['- a\n  - b\n\n    [c](d.md)', ['d.md']],
    ['a ``b ` [c](d.md)`` [e](f.md)', ['f.md']],
    ['a ` b [c](d.md)', ['d.md']],
    ['~~~\n[a](b.md)\n```\n[c](d.md)\n~~~\n[e](f.md)', ['f.md']],
    ['> ```\n> [a](b.md)\n\n[c](d.md)', ['d.md']],
    ['- ```\n  [a](b.md)\n  ```\n- [c](d.md)', ['d.md']],
  ])('%j has %j', (text, targets) => {
    expect(targetsOf(text)).toEqual(targets)
  })

  test.each([
    [String.raw`\[a](b.md)`],
    ['`[a](b.md)`'],
    ['```md\n[a](b.md)\n```'],
    ['a\n\n    [a](b.md)'],
    ['<!-- [a](b.md) -->'],
    ['<!--\n[a](b.md)\n\n[c](d.md)\n-->'],
    ['[^1]: a.md'],
    ['[a] (b.md)'],
    ['a](b.md)'],
    ['[a](b c.md)'],
    ['[a](b.md "title'],
    ['[User]: hello'],
    ['[User]: hello there, [User]'],
    ['a\n[b]: c.md\n[b]'],
    ['[a](b(c d)'],
    ['<pre>\n\n[a](b.md)\n</pre>'],
    ['<div>\n[a](b.md)\n</div>'],
    ['<!-- a --> [b](c.md)'],
    ['<img alt="[a](b.md)">'],
    ['<!-- <a href="b.md"> -->'],
    ['<script>\na = \'<a href="b.md">\'\n</script>'],
    ['1. a\n\n       [b](c.md)'],
  ])('%j has none', (text) => {
    expect(targetsOf(text)).toEqual([])
  })

  test('lie where they are said to lie', () => {
    const word = fc.constantFrom(
      '[a](b.md)',
      '![',
      '](',
      '`',
      '```\n',
      '\n',
      '> ',
      '- ',
      '    ',
      '[x]: y.md',
      '<!--',
      '-->',
      '<a:b>',
      '\\',
      ' ',
    )

    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        const text = words.join('')
        for (const { target, offset } of linksIn(text))
          expect(text.slice(offset)).toMatch(target === '' ? /^/ : target.charAt(0))
      }),
      { numRuns: 2_000 },
    )
  })

  // A search that goes back would take hours for these, or centuries.
  test.each([
    '[',
    '[]',
    '[a](',
    '[a](<',
    '[a](b (',
    "[a](b '",
    '![',
    '` ',
    '`` ` ',
    '<!-- \n\n',
    '<!--',
    '<a:',
    '<a b="',
    '[a\n',
    '[a]: ',
    '[a]: b "',
    '[a](b "\\',
    '<a b="\'',
    '<?',
    '<![CDATA[',
    '<b\n',
    '   - ',
    '> - ',
    '- ',
    '-\n',
    '1. ',
    '> ',
    ' >',
    '   > ',
    '*a_ ',
    '```\n',
    '\\',
    '\t',
    '\n',
    '\r',
  ])('are none, and found to be none, in 100,000 characters of %j, whatever ends them', (part) => {
    const [long, short] = [HOSTILE, 300].map((length) => part.repeat(length / part.length))

    for (const end of ['', 'x', '[x', '\nx\n'])
      for (const text of [long + end, short + end]) expect(targetsOf(text)).toEqual([])
  })
})
