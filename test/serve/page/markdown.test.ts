import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderMarkdown } from '../../../src/serve/page/markdown.ts'
import { cpuSeconds } from '../../support/effort.ts'

const FILES = new Map([
  ['SKILL.md', './'],
  ['references/more.md', './references/more.md'],
  ['a b.txt', './a%20b.txt'],
])

function html(markdown: string, path = 'SKILL.md', head = { line: 1, frontmatter: '' }): string {
  return renderMarkdown({ markdown, path, files: FILES, ...head })
}

/** The marks of what is not rendered, as they are read. */
function marksIn(text: string): readonly string[] {
  const marks = [...text.matchAll(/<span class="unrendered"[^>]*>(?<mark>[^<]*)</g)].map(
    ({ groups }) => groups!['mark']!,
  )
  return marks.map((mark) => mark.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))))
}

/** Every tag that may come out, with all that may stand in it. */
const TAG =
  /<(?:\/?(?:p|em|strong|s|ul|ol|li|blockquote|h[2-6]|pre|code|table|thead|tbody|tr|th|td|div|span|a)|br|hr|ol start="\d+"|h[2-6] id="md-[^"<>]*"|pre tabindex="0"|div class="wide" role="region" aria-label="Table" tabindex="0"|t[hd] class="(?:left|center|right)"|span class="(?:image|unseen" title="Invisible character|unrendered" title="Markdown leaves this out, and a model reads it|nowhere" title="This link leads to nothing that is served here)"|a href="(?:#md-|\.\/|https?:\/\/)[^"<>]*"(?: rel="noopener noreferrer nofollow")?)>/g

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
      `<p><span class="image">Image: A cat</span> ${mark}address, line 1: cat.png</span> ${mark}title, line 1: tease</span></p>\n`,
    )
    expect(html('![](https://e.example/pixel)')).toContain('Image: without a text')
  })

  test.each([
    [
      'a definition that no text uses',
      '# A\n\n[//]: # (secret words)\n\nb',
      'definition, line 3: [//]: # (secret words)',
    ],
    [
      'a definition in a list in a quote',
      '> - a\n>\n>   [x]: <secret words>',
      'definition, line 3: [x]: <secret words>',
    ],
    ['a definition over lines', '[x]:\n/a\n"secret\nwords"', 'definition, line 1: [x]:\n/a\n"secret\nwords"'],
    ['a second definition of one name', '[x]: #\n[x]: # "secret words"', 'definition, line 2: [x]: # "secret words"'],
    ['the title of a link', '[a](https://e.example/ "secret words")', 'title, line 1: secret words'],
    ['the title of an image', '![a](a.png "secret words")', 'title, line 1: secret words'],
    ['the address of an image', '![a](secret-words)', 'address, line 1: secret-words'],
    ['the address of a link that leads nowhere', '[a](secret-words)', 'address, line 1: secret-words'],
    ['a link in the text of an image', '![[a](b "secret words")](a.png)', 'Image: [a](b "secret words")'],
    ['what follows the language of code', '```js secret words\na\n```', 'code, line 1: js secret words'],
    ['a cell beyond the columns of a table', '|a|\n|-|\n|b| secret words|', 'row, line 3: |b| secret words|'],
  ])('%s is shown and marked', (_, markdown, expected) => {
    const text = html(markdown).replaceAll(/<[^>]*>/g, '')

    expect(text.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))).toContain(expected)
  })

  test.each([
    ['in a later line of a paragraph', 'a\n*b*\n[c](d "e")', ['address, line 3: d', 'title, line 3: e']],
    ['over lines', '[c](\nd\n"e")', ['address, line 2: d', 'title, line 3: e']],
    ['behind a code span over lines', '`a\nb`\n[c](d)', ['address, line 3: d']],
    ['in a list in a quote', '> - a\n>\n>   b\n>   [c](d)', ['address, line 4: d']],
    ['in a cell', '|a|\n|-|\n|b|\n|[c](d)|', ['address, line 4: d']],
    ['in the text of a link', 'a\n[b\n![c](d)](references/more.md)', ['address, line 3: d']],
    ['between angle brackets', 'a\n<javascript:b>', ['address, line 2: javascript:b']],
    [
      'by its label',
      '[x]: y "z"\n\n[c][X]\n',
      ['definition, line 1: [x]: y "z"', 'address, line 1: y', 'title, line 1: z'],
    ],
    [
      'by the first of its label',
      '[x]\n\n[x]: y\n[x]: z\n',
      ['address, line 3: y', 'definition, line 3: [x]: y', 'definition, line 4: [x]: z'],
    ],
    ['with another in its label', '[a [b](c) d](e)', ['address, line 1: c']],
    ['after a carriage return by itself', 'a\rb\r\n[c](d)', ['address, line 2: d']],
    ['as a picture', 'a\n![b](\nc "d")', ['address, line 3: c', 'title, line 3: d']],
  ])('a link %s is marked with its lines', (_, markdown, marks) => {
    expect(marksIn(html(markdown))).toEqual(marks)
  })

  test('lines are those of the file, with the frontmatter before it', () => {
    const head = { line: 7, frontmatter: 'name: a\ndescription: b\nlicense: c\nd: e\n' }

    const text = html('[a](b)\n\n```js c\n```\n', 'SKILL.md', head)

    expect(marksIn(text)).toEqual(['address, line 7: b', 'code, line 9: js c'])
  })

  test('comments of the frontmatter stand before the text, marked like the rest, with their lines', () => {
    const frontmatter =
      '# one\n# <two>\nname: a # three\ndescription: "# none"\ntext: |\n  # none\n#\n\r\n# four\u{200B}\n'

    const text = html('# A\n', 'SKILL.md', { line: 12, frontmatter })

    expect(marksIn(text)).toEqual(['comment, line 2: one\n<two>', 'comment, line 4: three', 'comment, line 8: \nfour'])
    expect(text).toContain('U+200B')
    expect(text.indexOf('three')).toBeLessThan(text.indexOf('<h2'))
  })

  test('a document of nothing but links that lead nowhere takes no longer than its length', () => {
    const markdown = '[a](b "c")\n'.repeat(20_000)
    const before = process.cpuUsage()

    const marks = marksIn(html(markdown))

    expect(marks.at(-1)).toBe('title, line 20000: c')
    expect(cpuSeconds(before)).toBeLessThan(5)
  })

  test('nothing is marked where all is rendered', () => {
    const plain = '# A\n\n[a](c.md) **b** `c`\n\n| a | b |\n|-|:-:|\n| `x\\|y` |\n| 1 | 2 |\n\n```\nx\n```\n'

    expect(html(plain.replace('c.md', 'references/more.md'))).not.toContain('unrendered')
  })
})
