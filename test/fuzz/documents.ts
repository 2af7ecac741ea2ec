import { isDeepStrictEqual } from 'node:util'
import type { JsonValue } from '../../src/base/json-value.ts'
import { writtenOf } from '../../src/features/author/lint/document-positions.ts'
import { renderMarkdown } from '../../src/serve/page/markdown.ts'
import { frontmatterText } from '../../src/sync/skill/frontmatter-text.ts'
import { readFrontmatter, readFrontmatterAsMeant } from '../../src/sync/skill/frontmatter.ts'
import { linksIn } from '../../src/sync/skill/markdown/markdown-links.ts'
import { oddityOf } from '../../src/sync/skill/yaml-fault.ts'
import { linkedPathsIn } from '../../src/sync/survey/document-reading.ts'
import { documentParts, unrenderedIn } from '../../src/sync/survey/unrendered-text.ts'
import { marketplaceOf } from '../sync/survey/marketplace/literal-tree.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

/** Readers of what authors write. */
export const DOCUMENTS = {
  frontmatter: async (bytes) => {
    const written = writtenOf(bytes, LIMITS)
    if (written.yaml !== undefined) oddityOf(written.yaml.document)
    expect(written.bodyStart <= written.text.length, 'the body begins after the end of the text')
    const strict = readFrontmatter(bytes, LIMITS)
    const reading = readFrontmatterAsMeant(bytes, LIMITS)
    expect(!strict.ok || isDeepStrictEqual(reading, strict), 'what YAML takes is read as something else')
    if (!reading.ok) refuse(reading.message)
    const { frontmatter, bodyStart } = reading
    expect(bodyStart > 0 && bodyStart <= bytes.length, 'the body begins outside of the file')
    expect(depthOf(frontmatter) <= LIMITS.depth, 'the frontmatter is deeper than its limit')
    const json = JSON.stringify(frontmatter)
    expect(Buffer.byteLength(json) <= 2 * LIMITS.bytes, 'the frontmatter is larger than its limit')
    expect(isDeepStrictEqual(JSON.parse(json), frontmatter), 'the frontmatter is another one when it comes as JSON')
    const anew = `---\n${frontmatterText(new Map(Object.entries(frontmatter)))}---\n`
    const again = readFrontmatter(Buffer.from(anew), { ...LIMITS, bytes: anew.length * 4 })
    expect(again.ok && isDeepStrictEqual(again.frontmatter, frontmatter), 'the frontmatter is another one when written')
  },
  markdown: async (bytes) => {
    const text = bytes.toString('utf8')
    for (const { offset } of linksIn(text)) expect(isWithin(offset, text), 'a link stands outside of the text')
    for (const path of linkedPathsIn(bytes)) {
      const segments = path.split('/')
      expect(!segments.includes('..') && !segments.includes(''), 'a link leads out of the folder of the skill')
    }
    for (const { offset, line, characters } of unrenderedIn(documentParts(Buffer.from(text)))) {
      expect(isWithin(offset, text) && offset + characters <= text.length, 'hidden text stands outside of the text')
      expect(text.slice(0, offset).split('\n').length === line, 'hidden text stands on another line')
    }
    expectInert(renderMarkdown({ markdown: text, path: 'SKILL.md', files: FILES, line: 1, frontmatter: text }))
  },
  marketplace: async (bytes) => {
    const path = '.claude-plugin/marketplace.json'
    const read = await marketplaceOf({ [path]: bytes.toString('utf8') })
    const { marketplace, findings } = read
    if (marketplace.files[0]?.isUnread === true) refuse(findings[0]?.message ?? '')
    const paths = marketplace.groups.flatMap(({ path: folder, skills }) => [[folder], skills].flat())
    expect(
      paths.every((one) => !one.startsWith('/') && !one.split('/').includes('..')),
      'a path leads out of the repository',
    )
    expect(
      marketplace.suggested.every(({ url }) => /^(?:https?|ssh):\/\/|^[\w.]+@/.test(url)),
      'an address is not one of git',
    )
    expect(isDeepStrictEqual(JSON.parse(JSON.stringify(marketplace)), marketplace), 'the marketplace is not plain data')
  },
} as const satisfies Readonly<Record<string, Target>>

const LIMITS = { bytes: 4_096, depth: 8 }

function depthOf(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce<number>((deepest, member) => Math.max(deepest, depthOf(member)), 0)
}

function isWithin(offset: number, text: string): boolean {
  return offset >= 0 && offset <= text.length
}

const FILES: ReadonlyMap<string, string> = new Map([['a.md', 'a.md?view']])

/** Every element is one of those that the page uses, with the attributes that it gives them, and each end has its beginning. */
function expectInert(html: string): void {
  const open: string[] = []
  for (const [, end, name = '', attributes = ''] of html.matchAll(TAG)) {
    expect(ELEMENTS.has(name), `the page has an element ${name}`)
    for (const [, attribute = '', value = ''] of attributes.matchAll(ATTRIBUTE)) {
      expect(ATTRIBUTES.has(attribute), `the page has an attribute ${attribute}`)
      expect(attribute !== 'href' || HREF.test(value), `the page links to ${value}`)
    }
    if (VOID.has(name)) continue
    if (end === '') open.push(name)
    else expect(open.pop() === name, `the page ends an element ${name} that is not the innermost`)
  }
  expect(open.length === 0, `the page leaves ${open.join(', ')} open`)
  expect(!/[<>]/.test(html.replaceAll(TAG, '')), 'the page has a tag that is none')
}

const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*)>/g
const ATTRIBUTE = / ([a-z-]+)="([^"]*)"/g
const HREF = /^(?:https?:\/\/|#md-|a\.md\?view$)/
const VOID: ReadonlySet<string> = new Set(['br', 'hr'])
const ATTRIBUTES: ReadonlySet<string> = new Set('href rel id class start tabindex title role aria-label'.split(' '))
const ELEMENTS: ReadonlySet<string> = new Set(
  'a span p h2 h3 h4 h5 h6 em strong s code pre blockquote ul ol li hr br div table thead tbody tr th td'.split(' '),
)

/** Sound documents of each kind. */
export const DOCUMENT_SEEDS: Readonly<Record<keyof typeof DOCUMENTS, readonly string[]>> = {
  frontmatter: [
    '---\nname: tidy\ndescription: Cleans up\n---\n# Tidy\n',
    '\uFEFF---\r\nname: "a\\u00e9\\n"\r\nallowed-tools: Read Write\r\n---\r\nbody',
    '---\nname: x\nmetadata:\n  a: {b: [1, 2.5, -0, true, ~], "c d": {e: f}}\n  list:\n    - one\n    - - two\n---\n',
    "---\ndescription: >-\n  folded\n  text\n\nlicense: |2+\n    kept\n\n'quoted': 'it''s'\n? key\n: value\n---\n---\n",
    '---\n# comment\n__proto__: {constructor: 1}\ntoString: ""\ndate: 2026-01-01\nhex: 0x1F\n---\nx',
    '---\na: !!str 1\nb: [[[[[[x]]]]]]\nc: {d: {e: {f: {g: h}}}}\n---\n',
  ],
  markdown: [
    '# A\n\nText *em* **strong** `code` [link](a.md "title") ![image](b.png) <https://example.com/?a=b&c=d>\n',
    '[ref][one] [one] [two][]\n\n[one]: a.md "t"\n[two]: <https://example.com/x y>\n  \'title\'\n[^note]: text\n',
    '- a\n  1. b\n     > quote\n     > ```js\n     > code <script>\n     > ```\n- [ ] c\n\n    indented\n\n~~~\nopen',
    '| a | b |\n| :- | -: |\n| `x|y` | [l](javascript:alert(1)) |\n\n<div onclick="x">\n<a href="a.md">html</a>\n\n</div>\n',
    '<!-- a comment that is long enough to say what a reader of the page never sees, and a model does -->\n\n***\n\\[no\\](link) &amp; &#x202e; \u202e\u200b line  \nbreak\n\nSetext\n===\n',
    `![${'an alternative text that goes on '.repeat(6)}](x.png "and a title")\n\n[a [b] ![c](d) e](#md-x)\n`,
  ],
  marketplace: [
    JSON.stringify({
      name: 'acme',
      metadata: { pluginRoot: './plugins' },
      plugins: [
        { name: 'a', source: 'a', version: '1.0.0', skills: ['./x', './y'], hooks: { Stop: [{ hooks: [{}] }] } },
        { name: 'b', source: { source: 'local', path: './b' }, commands: './c.md' },
        { name: 'c', source: { source: 'github', repo: 'acme/c', ref: 'main', sha: 'a'.repeat(40) } },
        { name: 'd', source: { source: 'git-subdir', url: 'https://git.example.com/d.git', path: './e/f' } },
        { name: 'e', source: { source: 'npm', package: '@acme/e' } },
      ],
      renames: { old: 'a', gone: null },
    }),
    '{"plugins": [{"name": "\\u0061", "source": "./", "skills": "./s"}], "__proto__": {"plugins": []}}',
  ],
}
