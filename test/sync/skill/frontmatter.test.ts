import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Document, type YAMLError, Composer, isCollection, parseDocument, Parser, stringify, visit } from 'yaml'
import { canonicalJson } from '../../../src/base/canonical-json.ts'
import {
  FRONTMATTER_LIMITS,
  readFrontmatter,
  utf8,
  YAML_RULES,
  type FrontmatterLimits,
  type FrontmatterReading,
} from '../../../src/sync/skill/frontmatter.ts'
import { cpuSeconds } from '../../support/effort.ts'

function read(content: string | Uint8Array, limits: FrontmatterLimits = FRONTMATTER_LIMITS) {
  return readFrontmatter(Buffer.from(content), limits)
}

/** The mapping that the lines between two fences come to, or the rule that they break. */
function yaml(lines: string): unknown {
  const reading = read(`---\n${lines}\n---\nbody\n`)
  return reading.ok ? reading.frontmatter : reading.rule
}

describe('the block', () => {
  const text = '---\nname: pdf\n---\nbody\n'

  test.each([
    ['LF', text],
    ['CRLF', text.replaceAll('\n', '\r\n')],
    ['LF and CRLF mixed', '---\r\nname: pdf\n---\r\nbody\n'],
    ['a byte order mark', `\u{FEFF}${text}`],
    ['a byte order mark and CRLF', `\u{FEFF}${text.replaceAll('\n', '\r\n')}`],
    ['no newline after the closing fence', '---\nname: pdf\n---'],
    ['an end-of-document mark before the fence', '---\nname: pdf\n...\n---\n'],
  ])('is read with %s', (_, text) => {
    expect(read(text)).toMatchObject({ ok: true, frontmatter: { name: 'pdf' } })
  })

  test('ends where the body starts, counted in bytes', () => {
    const content = Buffer.from('\u{FEFF}---\r\nname: pdf # ünï\r\n---\r\nbody\n')

    const reading = read(content)

    expect(reading.ok && content.subarray(reading.bodyStart).toString()).toBe('body\n')
  })

  test.each([
    ['nothing at all', ''],
    ['a body alone', '# Title\n'],
    ['a line before the fence', '\n---\nname: pdf\n---\n'],
    ['a space before the fence', ' ---\nname: pdf\n---\n'],
    ['a space after the fence', '--- \nname: pdf\n---\n'],
    ['four hyphens', '----\nname: pdf\n----\n'],
    ['lone CR for line ends', '---\rname: pdf\r---\rbody'],
    ['two byte order marks', '\u{FEFF}\u{FEFF}---\nname: pdf\n---\n'],
    ['a byte order mark alone', '\u{FEFF}'],
  ])('is missing with %s', (_, content) => {
    expect(read(content)).toMatchObject({ ok: false, rule: 'frontmatter-missing' })
  })

  test.each([
    ['nothing more', '---'],
    ['no second fence', '---\nname: pdf\n'],
    ['a second fence that is indented', '---\nname: pdf\n ---\n'],
    ['a second fence that is longer', '---\nname: pdf\n----\n'],
    ['a second fence with lone CR', '---\nname: pdf\n---\rbody\n'],
    ['a body of ten megabytes on one line', Buffer.concat([Buffer.from('---\n'), Buffer.alloc(10_000_000, 'x')])],
  ])('is unterminated with %s', (_, content) => {
    expect(read(content)).toMatchObject({ ok: false, rule: 'frontmatter-unterminated' })
  })

  test('is not cut by three hyphens in a value, nor by those of the body', () => {
    const lines = ['a: "---"', 'b: |', '  one', '  ---', '  two', 'c: --- # not a fence', 'd: x---']

    const reading = read(`---\n${lines.join('\n')}\n---\nbody\n\n---\n\nmore: body\n---\n`)

    expect(reading).toMatchObject({ ok: true, frontmatter: { a: '---', b: 'one\n---\ntwo\n', c: '---', d: 'x---' } })
  })

  test('may hold as many bytes as the limit says, and not one more', () => {
    const filled = (bytes: number): string => `---\nk: ${'x'.repeat(bytes - 4)}\n---\n`

    expect(read(filled(100), { bytes: 100, depth: 8 })).toMatchObject({ ok: true })
    expect(read(filled(101), { bytes: 100, depth: 8 })).toMatchObject({ ok: false, rule: 'frontmatter-too-large' })
    expect(read(filled(65_537))).toMatchObject({ ok: false, rule: 'frontmatter-too-large' })
  })
})

describe('the encoding', () => {
  test('of the block is UTF-8 to the last byte', () => {
    const content = Buffer.concat([Buffer.from('---\nname: caf'), Buffer.from([0xe9]), Buffer.from('\n---\n')])

    expect(read(content)).toMatchObject({ ok: false, rule: 'encoding-invalid' })
  })

  test('of the body is nobody’s business', () => {
    const content = Buffer.concat([Buffer.from('---\nname: pdf\n---\n'), Buffer.from([0xff, 0xfe, 0x00])])

    expect(read(content)).toMatchObject({ ok: true, frontmatter: { name: 'pdf' } })
  })

  test('leaves no half of a surrogate pair, which other JSON readers refuse with the whole listing', () => {
    expect(yaml('name: "a\\ud800b"')).toBe('frontmatter-invalid')
    expect(yaml('"\\ud800": a')).toBe('frontmatter-invalid')
    expect(yaml('a: [{b: "\\udfff"}]')).toBe('frontmatter-invalid')
    expect(yaml('a: "\\U0001f600"')).toEqual({ a: '\u{1F600}' })
  })

  test('a NUL is a character that only an escape spells', () => {
    expect(yaml('a: "b\\0c"')).toEqual({ a: 'b\0c' })
    expect(read('---\na: "b\0c"\n---\n')).toMatchObject({ ok: false, rule: 'frontmatter-invalid' })
  })

  test('utf8 keeps the byte order mark and refuses what is cut short', () => {
    expect(utf8(Buffer.from('\u{FEFF}x'))).toBe('\u{FEFF}x')
    expect(utf8(Buffer.from('é').subarray(0, 1))).toBeUndefined()
    expect(utf8(Buffer.from('eda080', 'hex'))).toBeUndefined()
  })
})

describe('the values', () => {
  test.each([
    ['a date', 'a: 2026-07-01', { a: '2026-07-01' }],
    ['what YAML 1.1 takes for a truth', 'a: yes\nb: off', { a: 'yes', b: 'off' }],
    ['a time', 'a: 12:30', { a: '12:30' }],
    ['a leading zero', 'a: 010', { a: 10 }],
    ['hexadecimal and octal', 'a: 0x1f\nb: 0o17', { a: 31, b: 15 }],
    ['true, false and null', 'a: true\nb: FALSE\nc: ~\nd:', { a: true, b: false, c: null, d: null }],
    ['the largest whole number that JSON keeps', 'a: 9007199254740991', { a: 9007199254740991 }],
    ['an anchor that nobody refers to', 'a: &x 1', { a: 1 }],
    ['a known tag', 'a: !!str 1', { a: '1' }],
    ['a merge key, which YAML 1.2 does not have', 'a: {<<: {b: 1}}', { a: { '<<': { b: 1 } } }],
    ['keys that are numbers or truths', '1: a\ntrue: b\n1.5: c', { '1': 'a', true: 'b', '1.5': 'c' }],
    ['an empty key', ': a', { '': 'a' }],
    ['an empty mapping', '{}', {}],
    [
      'the directive of an older version, which decides nothing',
      '%YAML 1.1\n--- #\na: yes\nb: 010\nc: 2001-01-01',
      { a: 'yes', b: 10, c: '2001-01-01' },
    ],
  ])('%s is read by the rules of YAML 1.2', (_, lines, expected) => {
    expect(yaml(lines)).toEqual(expected)
  })

  test.each([
    ['an empty block', ''],
    ['comments alone', '# name: pdf\n# description: x'],
    ['a list', '- name'],
    ['a sentence', 'just a sentence'],
    ['null', '~'],
    ['a list in flow style', '[name, description]'],
    ['a list that is never closed', 'a: [b'],
    ['a tab for indentation', 'a:\n\tb: 1'],
    ['two documents', 'a: 1\n--- \nb: 2'],
    ['an alias', 'a: &x 1\nb: *x'],
    ['an alias to nothing', 'a: *x'],
    ['an alias in a merge key', 'a: &x {b: 1}\nc: {<<: *x}'],
    ['a custom tag', 'a: !python/object:os.system x'],
    ['a tag that does not fit', 'a: !!int x'],
    ['binary', 'a: !!binary aGVsbG8='],
    ['a set', 'a: !!set {b, c}'],
    ['a set of an older version', '%YAML 1.1\n--- #\na: !!set {b, c}'],
    ['a key twice', 'a: 1\na: 2'],
    ['a key twice in another style', 'a: 1\n"a": 2'],
    ['a key twice further in', 'a: {b: 1, b: 2}'],
    ['a key twice in a list', 'a:\n  - b: 1\n    b: 2'],
    ['a key twice, once as a number', '1: a\n"1": b'],
    ['a key twice, called __proto__', '__proto__: a\n__proto__: b'],
    ['a key that is a list', '? [a]\n: b'],
    ['a key that is a mapping', '? {a: b}\n: c'],
    ['infinity', 'a: .inf'],
    ['no number', 'a: [.nan]'],
    ['a number beyond all', 'a: 1e400'],
    ['a whole number beyond 2^53', 'a: 9007199254740993'],
    ['a negative one', 'a: -9007199254740993'],
    ['one in hexadecimal', 'a: 0x20000000000001'],
  ])('%s is refused', (_, lines) => {
    expect(yaml(lines)).toBe('frontmatter-invalid')
  })

  test.each([
    [
      'description: Use when: it fails',
      'is not valid YAML: a value holds ": " and is not quoted, so it is read as a mapping; put the value of description, line 2, in quotes',
    ],
    ['a:\n\tb: 1', 'is not valid YAML: a tab is used where spaces are required; indent line 3 with spaces'],
    ['a: 1\n--- \nb: 2', 'is not valid YAML: a second document begins in it; remove line 3'],
    ['a: &x 1\nb: *x', 'cannot be written as JSON: it holds an alias (*); write the value out (b, line 3)'],
    ['a: 1\nb: 2\na: 3', 'cannot be written as JSON: it has a key twice; remove one (a, line 4)'],
  ])('%j is refused in words that need no knowledge of the YAML reader', (lines, why) => {
    expect(read(`---\n${lines}\n---\n`)).toMatchObject({ ok: false, message: `The frontmatter ${why}` })
  })

  test('keys with a meaning to JavaScript are keys like any other', () => {
    const keys = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toJSON', 'toString']

    const reading = read(`---\n${keys.map((key) => `${key}: {name: ${key}}`).join('\n')}\n---\n`)

    if (!reading.ok) throw new Error(reading.message)
    expect(Object.keys(reading.frontmatter)).toEqual(keys)
    expect(Object.getPrototypeOf(reading.frontmatter)).toBe(Object.prototype)
    expect(reading.frontmatter['name']).toBeUndefined()
    expect(JSON.stringify(reading.frontmatter)).toBe(`{${keys.map((key) => `"${key}":{"name":"${key}"}`).join(',')}}`)
    expect(Reflect.get({}, 'name')).toBeUndefined()
  })

  test('a negative zero is the zero that comes back from JSON', () => {
    const reading = read('---\na: -0\nb: [-0.0]\n---\n')

    expect(reading).toMatchObject({ ok: true, frontmatter: { a: 0, b: [0] } })
    expect(reading.ok && Object.is(reading.frontmatter['a'], 0)).toBe(true)
  })

  test('that JSON writes in more than twice the bytes of the limit are refused', () => {
    const limits = { bytes: 100, depth: 2 }

    expect(read(`---\na: "${String.raw`\0`.repeat(32)}"\n---\n`, limits)).toMatchObject({ ok: true })
    expect(read(`---\na: "${String.raw`\0`.repeat(33)}"\n---\n`, limits)).toMatchObject({
      ok: false,
      rule: 'frontmatter-too-large',
    })
  })

  test.each([
    ['items', (count: number) => `a: [${'b,'.repeat(count)}]`],
    ['empty lists', (count: number) => `a: [${'[],'.repeat(count)}]`],
    ['lines', (count: number) => `a:\n${' - b\n'.repeat(count)}`],
    ['comments', (count: number) => '# a\n'.repeat(count)],
    ['faults', (count: number) => `a: [${'} '.repeat(count)}]`],
  ])('are few enough to be read at once: thousands of %s are more than anybody writes', (_, yaml) => {
    const few = read(`---\nname: pdf\n${yaml(2000)}\n---\n`)
    const many = read(`---\nname: pdf\n${yaml(12_000)}\n---\n`)
    const allowed = read(`---\nname: pdf\n${yaml(12_000)}\n---\n`, { bytes: 2 ** 20, depth: 32 })

    expect(few).not.toMatchObject({ rule: 'frontmatter-too-large' })
    expect(many).toMatchObject({ ok: false, rule: 'frontmatter-too-large' })
    expect(allowed).not.toMatchObject({ rule: 'frontmatter-too-large' })
  })

  test.each([
    ['brackets', `a: ${'['.repeat(16_000)}`],
    ['brackets that close', `a: ${'['.repeat(8000)}${']'.repeat(8000)}`],
    ['braces', '{a: '.repeat(2500)],
    ['braces and brackets', `a: ${'[{b: '.repeat(2000)}`],
    ['list marks on one line', '- '.repeat(8000)],
    ['list marks below a key', `a:\n  ${'- '.repeat(8000)}`],
    ['key marks', '? '.repeat(8000)],
    ['colons', ': '.repeat(8000)],
    ['keys on one line', 'a: '.repeat(3000)],
    ['lines that go in', Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    ['lists in mappings', Array.from({ length: 200 }, (_, depth) => `${'  '.repeat(depth)}- a:`).join('\n')],
    ['lists in flow below lines', `a:\n  b:\n    - c:\n        - ${'['.repeat(9000)}`],
  ])('of thousands of levels are refused before they are parsed: %s', (_, lines) => {
    const effort = countingEffort()

    const reading = read(`---\n${lines}\n---\n`)

    expect(reading).toMatchObject({
      rule: 'frontmatter-invalid',
      message: 'The frontmatter cannot be written as JSON: it is nested too deep',
    })
    expect(effort().parsed).toBeLessThan(300)
    expect(effort().composed).toBe(0)
  })

  test.each([
    ['items', `a: [${'b,'.repeat(20_000)}]`],
    ['stray braces', `a: ${'}'.repeat(60_000)}`],
    ['levels', `a: ${'['.repeat(60_000)}`],
    ['aliases', `a: &a 1\nb: [${'*a,'.repeat(20_000)}]`],
  ])('that are too many cost no more than to count them: none of tens of thousands of %s is parsed', (_, lines) => {
    const effort = countingEffort()

    const reading = read(`---\n${lines}\n---\n`)

    expect(reading).toMatchObject({ rule: 'frontmatter-too-large' })
    expect(effort().parsed).toBe(0)
  })

  test('of thousands of aliases are refused before they are parsed', () => {
    const effort = countingEffort()

    const reading = read(`---\na: &a 1\nb: [${'*a,'.repeat(5000)}]\n---\n`)

    expect(reading).toMatchObject({
      rule: 'frontmatter-invalid',
      message: expect.stringContaining('it holds an alias (*)'),
    })
    expect(effort().parsed).toBeLessThan(300)
    expect(effort().composed).toBe(0)
  })

  test.each([
    ['double quotes', `a: "${'[{- '.repeat(2000)}"`],
    ['single quotes', `a: '${'[{*x '.repeat(2000)}'`],
    ['plain text', `a: x${'[{*'.repeat(2000)}`],
    ['a comment', `a: b # ${'[{- *'.repeat(2000)}`],
    ['lines of comments', `${'# [ { *a\n'.repeat(1000)}a: b`],
    ['one block scalar', `a: |\n${' [{- : ? *a\n'.repeat(1000)}`],
    ['block scalars', manyOf(50, (at) => `k${at}: |\n  *a`)],
    ['neighbours', `a: [${'[{b: []}],'.repeat(500)}]`],
    ['lists at the column of their key', manyOf(300, (at) => `k${at}:\n- a\n- b: [c]`)],
  ])('are as deep as they stand in each other, whatever stands in %s', (_, lines) => {
    expect(read(`---\n${lines}\n---\n`)).toMatchObject({ ok: true })
  })

  test('are nested as deep as the limit says, and no deeper', () => {
    const nested = (levels: number): string => `---\na: ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}\n---\n`

    expect(read(nested(32))).toMatchObject({ ok: true })
    expect(read(nested(33))).toMatchObject({ ok: false, rule: 'frontmatter-invalid' })
    expect(read(nested(3), { bytes: 100, depth: 2 })).toMatchObject({ ok: false, rule: 'frontmatter-invalid' })
  })
})

describe('whatever the bytes are', () => {
  const marks = ['---', '\n', '\r\n', '\r', ' ', '  ', '\t', ':', ': ', '- ', '? ', '#', ' #', ',', '[', ']', '{', '}']
  const styles = ['|', '>', '|-2', '"', "'", '\\', '\\x', '\\ud800', '&a', '*a', '!', '!!str', '!!map', '!<x>', '<<']
  const directives = ['%YAML 1.1', '%TAG ! x', '...', '--- ', '\u{FEFF}', '\u{85}', '\u{2028}', '\0', 'ü', '\u{1F600}']
  const values = [
    'a',
    'b',
    'name',
    '__proto__',
    'constructor',
    '1',
    '-0',
    '0x',
    '1e9',
    '.inf',
    'null',
    '~',
    '2001-01-01',
  ]
  const tokens = [...marks, ...styles, ...directives, ...values]
  const lines = fc.array(fc.constantFrom(...tokens), { maxLength: 40 }).map((found) => Buffer.from(found.join('')))
  const wild = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes))
  const block = fc
    .oneof(lines, wild)
    .map((inner) => Buffer.concat([Buffer.from('---\n'), inner, Buffer.from('\n---\nbody')]))

  test('reading never throws, and what is accepted is the same after JSON', () => {
    let accepted = 0

    fc.assert(
      fc.property(fc.oneof({ weight: 8, arbitrary: block }, { weight: 1, arbitrary: wild }), (content) => {
        const reading = readFrontmatter(content, { bytes: 4096, depth: 6 })

        if (!reading.ok) return reading.message !== ''
        accepted += 1
        const json = JSON.stringify(reading.frontmatter)
        expect(JSON.stringify(JSON.parse(json))).toBe(json)
        expect(JSON.parse(json)).toEqual(reading.frontmatter)
        expect(isAny(reading.frontmatter, isHalved)).toBe(false)
        expect(content.subarray(reading.bodyStart).toString()).toMatch(/(^|\n)?body$|^$/)
        return true
      }),
      { numRuns: 3000 },
    )

    expect(accepted).toBeGreaterThan(30)
  })

  const nests: readonly ((levels: number) => string)[] = [
    (levels) => `a: ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`,
    (levels) => `${'{a: '.repeat(levels)}${'}'.repeat(levels)}`,
    (levels) => `a:\n  ${'- '.repeat(levels - 1)}b`,
    (levels) => manyOf(levels, (at) => `${' '.repeat(at)}a:`),
    (levels) => manyOf(levels / 2, (at) => `${' '.repeat(at)}a:\n${' '.repeat(at)}-\n`),
    (levels) => manyOf(levels / 2, (at) => `${'  '.repeat(at)}- a:`),
    (levels) => `a:\n  ${'? '.repeat(levels)}b`,
    (levels) => `a:\n  - b: ${'[c: ['.repeat(levels / 2)}${']]'.repeat(levels / 2)}\nb: c`,
  ]
  const brackets = [
    '[',
    '[[',
    '{a: ',
    ']',
    '}',
    '"[',
    "'{",
    '# [',
    '\n  ',
    '\n    - b: ',
    '\n- ',
    'a: ',
    '\nb: ',
    ', ',
    '&a ',
    '*a',
  ]
  const nestings = fc.oneof(
    fc.array(fc.constantFrom(...brackets), { maxLength: 50 }).map((found) => found.join('')),
    fc.tuple(fc.constantFrom(...nests), fc.integer({ min: 28, max: 36 })).map(([nest, levels]) => nest(levels)),
    fc.jsonValue({ maxDepth: 6, noUnicodeString: true }).map((value) => stringify({ value })),
  )

  test('what the parser reads within the limits is read to the same value, and what it finds wrong is said in its words', () => {
    const seen = { read: 0, wrong: 0, deep: 0 }

    fc.assert(
      fc.property(fc.oneof(nestings, lines.map(String)), (written) => {
        // A line of three hyphens ends the frontmatter.
        const text = written.replaceAll('---', '- -')

        const reading = read(`---\n${text}\n---\n`)

        const document = parseDocument(`${text}\n`, YAML_RULES)
        const problem = document.errors[0] ?? document.warnings[0]
        const found = reading.ok ? 'read' : reading.message.endsWith('nested too deep') ? 'deep' : 'wrong'
        seen[found] += 1
        expect(reading).toSatisfy(() => isAsParsed(reading, document, problem))
      }),
      { numRuns: 4000 },
    )

    expect(Object.values(seen).every((count) => count > 100)).toBe(true)
  })

  test('what was JSON is read as that JSON, its keys in the order in which the disk gives them back', () => {
    const inexact = (value: unknown): boolean =>
      typeof value === 'number' && (Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    const key = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
      fc.constantFrom('__proto__', 'constructor'),
    )
    const mapping = fc
      .dictionary(key, fc.jsonValue({ maxDepth: 3, noUnicodeString: true }) as fc.Arbitrary<unknown>, { maxKeys: 5 })
      .filter((value) => !isAny(value, inexact))

    fc.assert(
      fc.property(mapping, (value) => {
        const json = JSON.stringify(value)

        const reading = read(`---\n${json}\n---\n`)

        expect(reading.ok && JSON.stringify(reading.frontmatter)).toBe(JSON.stringify(JSON.parse(canonicalJson(value))))
      }),
      { numRuns: 1000 },
    )
  })

  const full = FRONTMATTER_LIMITS.bytes - 16
  test.each([
    ['opening brackets', '['.repeat(full)],
    ['opening braces', '{'.repeat(full)],
    ['brackets that close', '['.repeat(full / 2) + ']'.repeat(full / 2)],
    ['anchors', '&a '.repeat(full / 3)],
    ['tags', '!a '.repeat(full / 3)],
    ['aliases', `a: &a 1\nb: [${'*a,'.repeat(full / 3 - 10)}]`],
    ['list marks on one line', '- '.repeat(full / 2)],
    ['key marks', '? '.repeat(full / 2)],
    ['keys on one line', 'a: '.repeat(full / 3)],
    ['stairs', Array.from({ length: 350 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    [
      'different keys',
      Array.from({ length: 10_900 }, (_, index) => `k${index.toString(36)}:`)
        .join('\n')
        .slice(0, full),
    ],
    [
      'different keys in braces',
      `{${Array.from({ length: 11_000 }, (_, index) => `${index.toString(36)}:`).join(',')}}`,
    ],
    ['quotes', '"'.repeat(full)],
    ['a quote that never ends', `"${'a\n'.repeat(full / 2)}`],
    ['directives', '%\n'.repeat(full / 2)],
    ['empty lines', '\n'.repeat(full)],
    ['block scalars', 'a: |\n b\n'.repeat(full / 9)],
    ['digits', `a: ${'1'.repeat(full - 4)}`],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghij', (key, index) => `${key}: &${key} [${`*${'abcdefghi'[index]},`.repeat(9)}]`).join('\n')}`,
    ],
  ])('64 KiB of %s have one quick end, also where so much may be read', (_, lines) => {
    const before = process.cpuUsage()

    const readings = [FRONTMATTER_LIMITS.bytes, 2 ** 20].map((bytes) =>
      read(`---\n${lines}\n---\n`, { ...FRONTMATTER_LIMITS, bytes }),
    )

    expect(cpuSeconds(before)).toBeLessThan(10)
    const [first, second] = readings.map((reading) => (reading.ok ? 'read' : reading.rule))
    expect(second).toMatch(/^read$|^frontmatter-invalid$/)
    expect([second, 'frontmatter-too-large']).toContain(first)
  })
})

function manyOf(count: number, line: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => line(at)).join('\n')
}

/** Counts from here to the end of the test what the YAML package is asked for: marks that are parsed, and syntax trees that are composed. */
function countingEffort(): () => { readonly parsed: number; readonly composed: number } {
  const parsing = vi.spyOn(Parser.prototype, 'next')
  const composing = vi.spyOn(Composer.prototype, 'next')
  onTestFinished(() => {
    parsing.mockRestore()
    composing.mockRestore()
  })
  return () => ({ parsed: parsing.mock.calls.length, composed: composing.mock.calls.length })
}

/** The levels of mappings and lists of a document, those in keys included. */
function levelsOf(document: Document): number {
  let most = 0
  visit(document, {
    Collection(_, __, path) {
      most = Math.max(most, 1 + path.filter(isCollection).length)
    },
  })
  return most
}

/** Whether the reading says what the parser, without bounds of what it begins, made of the same text. */
function isAsParsed(reading: FrontmatterReading, document: Document, problem: YAMLError | undefined): boolean {
  if (reading.ok) {
    const value: unknown = JSON.parse(JSON.stringify(document.toJS()))
    return problem === undefined && canonicalJson(value) === canonicalJson(reading.frontmatter)
  }
  if (reading.message.endsWith('nested too deep')) return levelsOf(document) > FRONTMATTER_LIMITS.depth
  if (problem === undefined) return true
  return (
    /^The frontmatter is not valid YAML: .*\bline \d/.test(reading.message) &&
    !reading.message.includes(problem.message)
  )
}

function isHalved(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  return typeof value === 'object' && value !== null && !Object.keys(value).every((key) => key.isWellFormed())
}

function isAny(value: unknown, is: (value: unknown) => boolean): boolean {
  if (is(value)) return true
  return typeof value === 'object' && value !== null && Object.values(value).some((item) => isAny(item, is))
}
