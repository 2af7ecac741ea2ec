import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FRONTMATTER_LIMITS } from '../../../src/sync/skill/frontmatter.ts'
import { documentReading } from '../../../src/sync/survey/document-reading.ts'
import { judgeDocument } from '../../../src/sync/survey/read-document.ts'
import { lawRuns } from '../../support/law-runs.ts'

/** Frontmatters in the forms of real collections. */
const AUTHORED: readonly (readonly string[])[] = [
  ['name: pdf', 'description: Fills forms. Use when the user asks for a form.'],
  ['name: pdf', 'description: "Fills forms: use when asked"', 'license: Proprietary. LICENSE.txt has the terms'],
  ['name: pdf', 'description: >-', '  Fills forms.', '  Use when: asked', 'allowed-tools: Bash(git:*), Read'],
  ['name: pdf', 'description: Fills forms.', '  Use them when asked', 'argument-hint: [file] [page]'],
  ['name: pdf', "description: 'It''s for forms'", 'metadata:', '  version: "1.0.0"', '  author: me'],
  ['name: pdf', 'description: Fills forms', 'tags: [a, b]', 'globs: **/*.ts'],
  ['name: pdf', 'description: Fills forms', 'hooks:', '  PreToolUse:', '    - matcher: Bash', '      run: x'],
]

const VALUES = [
  '[a] [b]',
  '[Beta] Fills forms',
  '"now" or later',
  'Use when: asked',
  '*',
  '**/*.ts',
  '@team asks',
  '`code` runs',
  '%d tokens',
  '!important',
  '{{ name }} is asked',
  '- forms',
  '> forms',
  'Posts to #channel',
  '# forms',
  '"open',
  '[open',
  '[list]',
  '42',
  'yes',
  '',
]

/** One slip of an author. */
type Slip = (lines: string[], at: number, value: string) => string[]

const SLIPS: readonly Slip[] = [
  (lines, at, value) => lines.with(at, (lines[at] ?? '').replace(/:(?: .*)?$/, `: ${value}`)),
  (lines, at) => lines.with(at, (lines[at] ?? '').replace(': ', ':')),
  (lines, at) => lines.with(at, ` ${lines[at]}`),
  (lines, at) => lines.with(at, `\t${lines[at]}`),
  (lines, at) => lines.with(at, (lines[at] ?? '').trimStart()),
  (lines, at) => lines.with(at, (lines[at] ?? '').replaceAll(/["']/g, '')),
  (lines, at) => lines.toSpliced(at, 0, lines[at] ?? ''),
  (lines, at) => lines.toSpliced(at, 0, '', '# a comment'),
  (lines, at, value) => lines.toSpliced(at, 0, value),
  // After a quote or the mark of a block, every reader knows a comment.
  (lines, at) => (/[a-z.\]]$/i.test(lines[at] ?? '') ? lines.with(at, `${lines[at]} # why`) : lines),
]

const slip = fc.record({ of: fc.constantFrom(...SLIPS), at: fc.nat(20), value: fc.constantFrom(...VALUES) })
const frontmatter = fc
  .tuple(fc.constantFrom(...AUTHORED), fc.array(slip, { minLength: 1, maxLength: 2 }))
  .map(([lines, slips]) =>
    slips.reduce<string[]>((all, { of, at, value }) => of(all, at % all.length, value), [...lines]),
  )

/** What agents find that read line by line: a field begins at the margin, and goes on in indented or empty lines. */
function readByLines(lines: readonly string[], field: string): string | undefined {
  const at = lines.findIndex((line) => line.startsWith(`${field}:`))
  if (at === -1) return undefined
  const first = lines[at]?.slice(field.length + 1).trim() ?? ''
  const below = lines.slice(at + 1)
  const end = below.findIndex((line) => !/^(?:[ \t]+\S|$)/.test(line))
  const more = (end === -1 ? below : below.slice(0, end)).map((line) => line.trim())
  const said = more.filter((line) => !line.startsWith('#'))
  return [first, ...said].join(' ').trim()
}

const BLOCK = /^[|>][-+]? /
/** Without what readers write differently; a comment is text in a block, if it is indented like it. */
const plain = (text: string): string =>
  text
    .replaceAll(/# (?:a comment|forms)/g, '')
    .replace(BLOCK, '')
    .replace(/^(["'])(.*)\1$/s, '$2')
    .replaceAll("''", "'")
    .replaceAll(/\s+/g, ' ')
    .trim()

test('what a reader of lines loads is served as it reads it, or a finding names the place and the mend', () => {
  fc.assert(
    fc.property(frontmatter, (lines) => {
      const text = ['---', ...lines, '---', ''].join('\n')
      const { standing, fields, findings } = judgeDocument(
        'pdf',
        documentReading(Buffer.from(text), FRONTMATTER_LIMITS),
      )
      const [name, description] = [readByLines(lines, 'name'), readByLines(lines, 'description')]
      fc.pre(name === 'pdf' && description !== undefined && plain(description) !== '')

      const told = findings.map(({ message }) => message).join('\n')
      const isNamed = /\bline \d/.test(told) && /quotes|remove|indent|write|save/.test(told)
      const isSame = standing === 'served' && plain(fields.description ?? '') === plain(description)
      expect(isNamed || isSame, `${text}\n${standing} ${fields.description}\n${told}`).toBe(true)
      expect(told).not.toMatch(/unexpected|implicit|flow|scalar|stringKeys|token|Alias cannot/i)
    }),
    { numRuns: lawRuns(20_000, 0.05) },
  )
})
