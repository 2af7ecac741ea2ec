import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { YAML_RULES } from '../../../src/sync/skill/frontmatter.ts'
import { plainMapping } from '../../../src/sync/skill/plain-mapping.ts'

test.each([
  [
    'name: pdf\ndescription: Reads PDF files, and fills forms.\n',
    { name: 'pdf', description: 'Reads PDF files, and fills forms.' },
  ],
  ['description: Use it for C#, a:b and "quoted" words  \n', { description: 'Use it for C#, a:b and "quoted" words' }],
  ['name: "true"\ndescription: \'Say: yes # really\'', { name: 'true', description: 'Say: yes # really' }],
  ['description: Reads “PDF” – all of it →\n', { description: 'Reads “PDF” – all of it →' }],
])('%j is read', (yaml, fields) => {
  expect(plainMapping(yaml)).toEqual(fields)
})

test.each([
  [''],
  ['\n'],
  ['name: pdf\n\ndescription: Text\n'],
  ['name:\n'],
  ['name: 1\n'],
  ['name: ~\n'],
  ['name: Null\n'],
  ['name: TRUE\n'],
  ['true: name\n'],
  ['name: a: b\n'],
  ['name: a:\n'],
  ['name: a # comment\n'],
  ['name: a\tb\n'],
  ['name: → a\n'],
  ['name: a\r\n'],
  ['name: a\n  b\n'],
  ['name: a\n- b\n'],
  ['name: "a\\n"\n'],
  ["name: 'it''s'\n"],
  ['name: "a" b\n'],
  ['name: a\nname: b\n'],
  ['name: [a]\n'],
  ['name: &a b\n'],
  ['name: !!str b\n'],
  ['name: |\n  a\n'],
  ['---\nname: a\n'],
  ['__proto__: a\n'],
  ['\uFEFFname: a\n'],
  [`${'a'.repeat(65)}: b\n`],
])('%j is left to the YAML reader', (yaml) => {
  expect(plainMapping(yaml)).toBeUndefined()
})

test('a text that is longer than any frontmatter is left to the YAML reader', () => {
  const text = (length: number): string => `name: ${'a'.repeat(length - 'name: '.length)}`

  expect(plainMapping(text(16_384))).toBeDefined()
  expect(plainMapping(text(16_385))).toBeUndefined()
})

test('more fields than a skill has are left to the YAML reader', () => {
  const fields = (count: number): string =>
    Array.from({ length: count }, (_, index) => `field-${index}: text\n`).join('')

  expect(Object.keys(plainMapping(fields(64)) ?? {})).toHaveLength(64)
  expect(plainMapping(fields(65))).toBeUndefined()
})

test('what is read is what the YAML reader reads', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...Array.from('abzAZ019_-.:#"\'\\ \t\n\r|>&*!%@`[]{},?~/=<\u007f\u00a0\u0085\u2028\ufeff\u{1F600}'),
      ': ',
      ' #',
      '\n',
    ),
    fc.constantFrom('null', 'true', 'False', 'name', 'description', '\nname: ', '---', '...', '.inf', '0x1f', '<<'),
    fc.string({ unit: 'binary', maxLength: 2 }),
  )
  const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
  const field = fc.record({
    name: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('name', 'description', 'a-b_9') },
      { weight: 1, arbitrary: text },
    ),
    value: fc.oneof(
      text,
      fc.tuple(fc.constantFrom('a', '"', "'"), text, fc.constantFrom('', '"', "'")).map((parts) => parts.join('')),
    ),
    end: fc.constantFrom('\n', '\n', '\n', '', '\r\n'),
  })
  const yaml = fc
    .array(field, { minLength: 1, maxLength: 4 })
    .map((fields) => fields.map(({ name, value, end }) => `${name}: ${value}${end}`).join(''))
  let read = 0

  fc.assert(
    fc.property(yaml, (source) => {
      const fields = plainMapping(source)
      if (fields === undefined) return true
      read += 1
      const document = parseDocument(source, YAML_RULES)
      return document.errors.length + document.warnings.length === 0 && isDeepStrictEqual(document.toJS(), fields)
    }),
    { numRuns: 20_000 },
  )

  expect(read).toBeGreaterThan(1_000)
})
