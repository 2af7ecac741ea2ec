import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rendered } from '../../../src/serve/page/markdown.ts'

const FILES = new Map([
  ['SKILL.md', './'],
  ['references/more.md', './references/more.md'],
  ['a b.txt', './a%20b.txt'],
])

function html(markdown: string, path = 'SKILL.md'): string {
  return rendered({ markdown, path, files: FILES })
}

/** Every tag that may come out, with all that may stand in it. */
const TAG =
  /<(?:\/?(?:p|em|strong|s|ul|ol|li|blockquote|h[2-6]|pre|code|table|thead|tbody|tr|th|td|div|span|a)|br|hr|ol start="\d+"|h[2-6] id="md-[^"<>]*"|pre tabindex="0"|div class="wide" role="region" aria-label="Table" tabindex="0"|t[hd] class="(?:left|center|right)"|span class="(?:image|unseen" title="A character that is not shown|unrendered" title="Markdown leaves this out, and a model reads it|nowhere" title="This link leads to nothing that is served here)"|a href="(?:#md-|\.\/|https?:\/\/)[^"<>]*"(?: rel="noopener noreferrer nofollow")?)>/g

describe('Markdown of others', () => {
  test('comes out as tags and attributes of a short list alone, whatever it says', () => {
    const signs = Array.from('<>"\'`*_[](){}!#|-:\\&;=/ \n\t~+.1a')
    const words = [
      '<script>',
      'javascript:',
      'data:',
      'https://e.example/',
      ' onclick=x',
      '![',
      '](',
      '```',
      '&#106;',
      '&lt;',
    ]
    const others = ['\u202E', '\u200B', '\uFEFF', '\0', '|-|', '[r]: ', '<!--', 'style="x"', ' "t"', '[r]']
    const pieces = fc.constantFrom(...signs, ...words, ...others)
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const rest = html(parts.join('')).replaceAll(TAG, '')

        expect(rest).not.toMatch(/[<>]/)
        expect(rest).not.toMatch(/[\u202E\u200B\uFEFF\0]/)
      }),
      { numRuns: 3_000 },
    )
  })

  test('a link leads to a file of the skill as seen from where it stands, or nowhere', () => {
    const hrefs = (text: string): string[] => [...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => href ?? '')

    expect(hrefs(html('[a](references/more.md) [b](./references/../references/more.md#x) [c](a%20b.txt)'))).toEqual([
      './references/more.md',
      './references/more.md',
      './a%20b.txt',
    ])
    expect(hrefs(html('[a](../SKILL.md) [b](more.md)', 'references/x.md'))).toEqual(['./', './references/more.md'])
    expect(
      hrefs(
        html(
          '[a](/references/more.md) [b](../x/SKILL.md) [c](//e.example) [d](mailto:a@b) [e](none.md) [f](../SKILL.md)',
        ),
      ),
    ).toEqual([])
  })

  test('no scheme but those of the web is one', () => {
    const schemes = [
      'javascript://e.example/%0aalert(1)',
      'file:///etc/passwd',
      'ftp://e.example/',
      'JAVASCRIPT:x',
      'data:,x',
    ]

    for (const href of schemes) expect(html(`[x](${href}) <${href}>`), href).not.toContain('href')
  })

  test('a heading is led to by its own name, and by none of the names that the page has itself', () => {
    const text = html('# Über uns!\n\n## main\n\n## main\n\n[to](#main)')

    expect(text).toContain('<h2 id="md-über-uns">')
    expect(text).toContain('<h3 id="md-main">')
    expect(text).toContain('<h3 id="md-main-1">')
    expect(text).toContain('<a href="#md-main">')
  })

  test('an image is what is said in its place', () => {
    const mark = '<span class="unrendered" title="Markdown leaves this out, and a model reads it">'

    expect(html('![A *cat*](cat.png "tease")')).toBe(
      `<p><span class="image">Image: A cat</span> ${mark}address: cat.png</span> ${mark}title: tease</span></p>\n`,
    )
    expect(html('![](https://e.example/pixel)')).toContain('Image: without a text')
  })

  test.each([
    ['a definition that no text uses', '# A\n\n[//]: # (secret words)\n\nb', 'definition: [//]: # (secret words)'],
    ['a definition in a list in a quote', '> - a\n>\n>   [x]: <secret words>', 'definition: [x]: <secret words>'],
    ['a definition over lines', '[x]:\n/a\n"secret\nwords"', 'definition: [x]:\n/a\n"secret\nwords"'],
    ['a second definition of one name', '[x]: #\n[x]: # "secret words"', 'definition: [x]: # "secret words"'],
    ['the title of a link', '[a](https://e.example/ "secret words")', 'title: secret words'],
    ['the title of an image', '![a](a.png "secret words")', 'title: secret words'],
    ['the address of an image', '![a](secret-words)', 'address: secret-words'],
    ['the address of a link that leads nowhere', '[a](secret-words)', 'address: secret-words'],
    ['a link in the text of an image', '![[a](b "secret words")](a.png)', 'Image: [a](b "secret words")'],
    ['what follows the language of code', '```js secret words\na\n```', 'code: js secret words'],
    ['a cell beyond the columns of a table', '|a|\n|-|\n|b| secret words|', 'row: |b| secret words|'],
  ])('%s is shown and marked', (_, markdown, expected) => {
    const text = html(markdown).replaceAll(/<[^>]*>/g, '')

    expect(text.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))).toContain(expected)
  })

  test('nothing is marked where all is rendered', () => {
    const plain = '# A\n\n[a](c.md) **b** `c`\n\n| a | b |\n|-|:-:|\n| `x\\|y` |\n| 1 | 2 |\n\n```\nx\n```\n'

    expect(html(plain.replace('c.md', 'references/more.md'))).not.toContain('unrendered')
  })
})
