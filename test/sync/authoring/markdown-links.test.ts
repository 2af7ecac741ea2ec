import { performance } from 'node:perf_hooks'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linksIn } from '../../../src/sync/authoring/markdown-links.ts'

const targetsOf = (text: string): string[] => Array.from(linksIn(text), ({ target }) => target)

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
    ['> [b]: <c d.md>', ['c d.md']],
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

  // A search that goes back would take hours for these, not seconds.
  test.each([
    '[',
    '[]',
    '[a](',
    '[a](<',
    '[a](b (',
    "[a](b '",
    '` ',
    '<!-- \n\n',
    '<a:',
    '[a\n',
    '- ',
    '> ',
    '*a_ ',
    '\n',
  ])(
    'are looked for in a text of a quarter of a megabyte of %j in seconds',
    (part) => {
      const began = performance.now()

      const found = targetsOf(part.repeat(2 ** 18 / part.length))

      expect(found).toEqual([])
      expect(performance.now() - began).toBeLessThan(10_000)
    },
    60_000,
  )
})
