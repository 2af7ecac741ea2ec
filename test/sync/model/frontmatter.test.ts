import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FRONTMATTER_LIMITS,
  readFrontmatter,
  utf8,
  type FrontmatterLimits,
} from '../../../src/sync/model/frontmatter.ts'
import { canonicalJson } from '../../../src/sync/store/json.ts'
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
    ['UTF-16', Buffer.from('\u{FEFF}---\nname: pdf\n---\n', 'utf16le')],
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

  test('a NUL is a character like any other', () => {
    expect(yaml('a: "b\0c"')).toEqual({ a: 'b\0c' })
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

    expect(read(`---\na: "${'\0'.repeat(32)}"\n---\n`, limits)).toMatchObject({ ok: true })
    expect(read(`---\na: "${'\0'.repeat(33)}"\n---\n`, limits)).toMatchObject({
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

function isHalved(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  return typeof value === 'object' && value !== null && !Object.keys(value).every((key) => key.isWellFormed())
}

function isAny(value: unknown, is: (value: unknown) => boolean): boolean {
  if (is(value)) return true
  return typeof value === 'object' && value !== null && Object.values(value).some((item) => isAny(item, is))
}
