import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FRONTMATTER_LIMITS,
  readFrontmatter,
  readFrontmatterAsMeant,
  type FrontmatterReading,
} from '../../../src/sync/skill/frontmatter.ts'

const document = (...lines: readonly string[]): Buffer => Buffer.from(['---', ...lines, '---', '# Body', ''].join('\n'))
const meant = (bytes: Buffer): FrontmatterReading => readFrontmatterAsMeant(bytes, FRONTMATTER_LIMITS)
const strict = (bytes: Buffer): FrontmatterReading => readFrontmatter(bytes, FRONTMATTER_LIMITS)

describe('a text without quotes that YAML takes for a mapping', () => {
  test.each([
    ['description: Use when: foo', 'Use when: foo'],
    ['description:   Use "x": y, \\n and é: z  ', 'Use "x": y, \\n and é: z'],
    ['description: Use when this:', 'Use when this:'],
    ['description: Use: a # not a comment', 'Use: a # not a comment'],
    ['description: Use:\ttabs', 'Use:\ttabs'],
    ['description: Use when: foo\r', 'Use when: foo'],
  ])('is read to the end of its line: %j', (line, description) => {
    const reading = meant(document('name: a', line))

    expect(reading).toMatchObject({ ok: true, frontmatter: { name: 'a', description } })
    const fields = [{ field: 'description', line: 3 }]
    expect(reading).toMatchObject({ unquoted: { fields, refusal: strict(document('name: a', line)) } })
  })

  test('is one of the fields of text, each by itself', () => {
    const lines = ['license: MIT: see LICENSE', 'compatibility: needs: git', 'when_to_use: when: asked']

    const reading = meant(document('name: a', 'description: plain # a comment', ...lines))

    expect(reading).toMatchObject({
      frontmatter: {
        description: 'plain',
        license: 'MIT: see LICENSE',
        compatibility: 'needs: git',
        when_to_use: 'when: asked',
      },
      unquoted: {
        fields: [
          { field: 'license', line: 4 },
          { field: 'compatibility', line: 5 },
          { field: 'when_to_use', line: 6 },
        ],
      },
    })
  })

  test.each([
    ['a field that is not at the top', ['metadata:', '  description: a: b']],
    ['a text with an empty line in it', ['description: Use when: foo', '', '  and more']],
    ['a text with a comment in it', ['description: Use when: foo', '  # and', '  more']],
    ['a value that is no prose, over several lines', ['metadata: a: b', '  c: d']],
    ['a line that is no field', ['description: a: b', 'and more', 'license: MIT']],
    ['a wrong escape in quotes', [String.raw`description: "C:\x"`]],
    ['a text in quotes that are not closed', ['description: "a: b']],
    ['a list', ['description: [a: b']],
    ['a field that stands twice', ['description: a: b', 'description: c']],
    ['a frontmatter with another fault', ['description: a: b', 'license: [']],
    ['a tag', ['metadata: !secret token']],
    ['a tag in a mapping', ['metadata: { token: !secret a }']],
    ['a tag in a list', ['allowed-tools: [Read, !secret a]']],
    ['a tag of YAML in a mapping', ['metadata: { bytes: !!binary aGVsbG8= }']],
    ['an alias with its anchor', ['description: a: b', 'x: &x 1', 'license: *x']],
  ])('is nothing else: %s', (_, lines) => {
    expect(meant(document(...lines))).toEqual(strict(document(...lines)))
    expect(meant(document(...lines))).toMatchObject({ ok: false })
  })

  test.each([
    'argument-hint: [a] [b]',
    'argument-hint: [a] - b',
    'argument-hint: "a" or "b"',
    'argument-hint: a: b',
    'argument-hint: *',
    'allowed-tools: *',
    'allowed-tools: Bash(git: *)',
    'globs: **/*.ts',
    'metadata: a: b',
    'name: a: b',
    'description: [Beta] Use it',
    'description: @team asks',
    'description: `code` runs',
    'description: *always* use it',
    'description: "now" or later',
    "description: 'now' or later",
    'description: %d tokens',
    'description: !important Use it',
    'description: !!! Use it',
    'description: {{ name }} is asked for',
    'description: {{name}}',
    'description: - Use it',
    'description: ? asked',
    'description: > Use it',
    'description: | Use it',
    'description: >- Use it',
    'description: , or',
    'description: ] or',
    'description: } or',
    'description: & more',
    'description: "a"# b',
  ])('is the whole of a line: %s', (line) => {
    const at = line.indexOf(':')

    const reading = meant(document('license: MIT', line))

    expect(reading).toMatchObject({
      ok: true,
      frontmatter: { license: 'MIT', [line.slice(0, at)]: line.slice(at + 2) },
    })
    expect(reading).toMatchObject({ unquoted: { fields: [{ field: line.slice(0, at), line: 3 }] } })
  })

  test('is that of a known field without the space after its colon', () => {
    expect(meant(document('name:a', 'description:Use it'))).toMatchObject({
      frontmatter: { name: 'a', description: 'Use it' },
    })
    expect(meant(document('name: a', 'https://example.com'))).toMatchObject({ ok: false })
  })

  test.each([
    [['description: Posts', '  Use when: asked'], 'Posts Use when: asked'],
    [['description: Use when: asked', '  or told  '], 'Use when: asked or told'],
    [['description: [Beta] Posts', '\tUse when: asked', ''], '[Beta] Posts Use when: asked'],
    [['description: "a" or', '    b # c'], '"a" or b # c'],
  ])('goes on in the indented lines below: %j', (lines, description) => {
    const reading = meant(document(...lines, 'license: a: b'))

    expect(reading).toMatchObject({ ok: true, frontmatter: { description, license: 'a: b' } })
    expect(reading).toMatchObject({ unquoted: { fields: [{ line: 2 }, { line: 2 + lines.length }] } })
  })

  test('is within the limits of every frontmatter', () => {
    const long = document(`description: a: ${'x'.repeat(200)}`)
    const deep = document('description: a: b', 'x: [[[[1]]]]')

    expect(readFrontmatterAsMeant(long, { bytes: 100, depth: 4 })).toMatchObject({ rule: 'frontmatter-too-large' })
    expect(readFrontmatterAsMeant(deep, { bytes: 1000, depth: 4 })).toMatchObject({ ok: false })
  })
})

describe('for any frontmatter', () => {
  const field = fc.constantFrom(
    'description',
    'license',
    'compatibility',
    'when_to_use',
    'name',
    'x',
    '  y',
    'description ',
  )
  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom(...Array.from('ab :#"\'[]{}|>-?*&!,\t\\\r')), maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
  const line = fc.oneof(
    fc.tuple(field, fc.constantFrom(': ', ':', ':  '), value).map((parts) => parts.join('')),
    value,
  )
  const lines = fc.array(line, { maxLength: 6 })

  test('what YAML takes is read as YAML, and nothing that is refused is read as less', () => {
    fc.assert(
      fc.property(lines, (list) => {
        const bytes = document(...list)
        const [asYaml, asMeant] = [strict(bytes), meant(bytes)]

        const isAsYaml = asYaml.ok || !asMeant.ok
        expect(isAsYaml ? asMeant : asMeant.unquoted?.refusal).toEqual(asYaml)
      }),
      { numRuns: 5000 },
    )
  })

  test('what a field says depends on its own line alone', () => {
    const sound = fc.constantFrom(
      'license: MIT',
      'x: 1',
      'license: a: b',
      'compatibility: c: d # e',
      'metadata: { a: b }',
    )
    fc.assert(
      fc.property(value, fc.uniqueArray(sound, { selector: (one) => one.split(':')[0] ?? '' }), (text, others) => {
        fc.pre(!/[\r\n]/.test(text))
        const own = `description: a${text}`
        const [alone, among] = [meant(document(own)), meant(document(...others, own))]

        expect(among.ok).toBe(alone.ok)
        expect(among.ok && among.frontmatter['description']).toEqual(alone.ok && alone.frontmatter['description'])
      }),
      { numRuns: 3000 },
    )
  })
})
