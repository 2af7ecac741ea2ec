import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { folderUrisAbove, readSkillUri, skillUri, uriOf } from '../../../../src/sync/model/uris/skill-uri.ts'

function canonical(raw: string): string | undefined {
  const uri = readSkillUri(raw)
  return uri.ok ? uri.canonical : undefined
}

/** What can stand in a tree and be served: any text but the few that git or we refuse. */
const segment = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
    fc.string({
      unit: fc.constantFrom(
        'a',
        'b',
        '.',
        '%',
        '2',
        '0',
        '?',
        '#',
        '[',
        ']',
        '@',
        ':',
        '&',
        ' ',
        '+',
        'ü',
        '\u{1F600}',
        '\n',
      ),
      minLength: 1,
      maxLength: 8,
    }),
    fc.constantFrom(
      'a%20b.md',
      'a b.md',
      '%2e%2e',
      '...',
      '100%.md',
      '%',
      '%%',
      '%E4',
      'q?x#y.md',
      'ünï.md',
      '\u{202E}',
    ),
  )
  .filter((text) => !/[/\\\0]/.test(text) && text !== '.' && text !== '..')
const segments = fc
  .tuple(fc.constantFrom('s', 'team-2'), fc.array(segment, { maxLength: 4 }))
  .map(([source, rest]): string[] => rest.toSpliced(0, 0, source))

describe('a URI that is read', () => {
  test.each([
    ['as it is published', 'skill://s/notes/setup%20guide.md', 'skill://s/notes/setup%20guide.md'],
    ['with an encoded per cent sign', 'skill://s/100%25.md', 'skill://s/100%25.md'],
    ['with an encoded query and fragment', 'skill://s/q%3Fx%23y.md', 'skill://s/q%3Fx%23y.md'],
    ['with letters encoded', 'skill://s/%C3%BCn%C3%AF.md', 'skill://s/%C3%BCn%C3%AF.md'],
    ['of a file whose name looks encoded', 'skill://s/a%2520b.md', 'skill://s/a%2520b.md'],
    ['with a raw space', 'skill://s/setup guide.md', 'skill://s/setup%20guide.md'],
    ['with raw letters', 'skill://s/ünï.md', 'skill://s/%C3%BCn%C3%AF.md'],
    ['with other hex case', 'skill://s/%c3%bcn%C3%af.md', 'skill://s/%C3%BCn%C3%AF.md'],
    ['with letters encoded that need not be', 'skill://%73/%53KILL%2Emd', 'skill://s/SKILL.md'],
    ['with three dots', 'skill://s/.../x', 'skill://s/.../x'],
    [
      'with dots that are encoded twice, which name dots and a per cent sign',
      'skill://s/%252e%252e/x',
      'skill://s/%252e%252e/x',
    ],
    ['of a source alone', 'skill://s', 'skill://s'],
    [
      'with sub-delimiters and colons behind the first segment',
      "skill://s/a@b:c!'()*&=+,;$",
      "skill://s/a%40b%3Ac!'()*%26%3D%2B%2C%3B%24",
    ],
  ])('%s has its one canonical form', (_, raw, expected) => {
    expect(readSkillUri(raw)).toEqual({ ok: true, canonical: expected, trailingSlash: false })
  })

  test('with a slash at its end says so, and has the form without it', () => {
    expect(readSkillUri('skill://s/a/')).toEqual({ ok: true, canonical: 'skill://s/a', trailingSlash: true })
    expect(readSkillUri('skill://s/')).toEqual({ ok: true, canonical: 'skill://s', trailingSlash: true })
  })

  test.each([
    ...['..', '.', '../x', './x', 'x/../y', 'x/./y', 'x/..', 'x/.'].map((path) => [
      'a dot segment',
      `skill://s/${path}`,
    ]),
    ...['%2e%2e', '%2E%2e', '.%2e', '%2e.', '%2e', '%2E'].map((dots) => [
      'an encoded dot segment',
      `skill://s/${dots}/SKILL.md`,
    ]),
    ...['%2e%2e', '%2E'].map((dots) => ['an encoded dot segment', `skill://${dots}/SKILL.md`]),
    ...['a%2fb', 'a%2Fb', 'a%5cb', 'a%5Cb', 'a\\b', '%2f', 'a%00', '%00'].map((path) => [
      'an encoded separator',
      `skill://s/${path}`,
    ]),
    ...['?x', '#y', '?', '#', '/?x'].map((end) => ['more than an authority and a path', `skill://s/SKILL.md${end}`]),
    ['more than an authority and a path', 'skill://u@s/SKILL.md'],
    ['more than an authority and a path', 'skill://u:p@s/SKILL.md'],
    ['more than an authority and a path', 'skill://s:80/SKILL.md'],
    ['more than an authority and a path', 'skill://[::1]/SKILL.md'],
    ['an empty segment', 'skill://s//SKILL.md'],
    ['an empty segment', 'skill://s/a//'],
    ['no segment', 'skill://'],
    ['no segment', 'skill:///'],
    ['no segment', 'skill:////'],
    ['no authority', 'skill:///SKILL.md'],
    ['another scheme', 'resource://s/SKILL.md'],
    ['another scheme', 'file:///etc/passwd'],
    ['capitals in the scheme', 'SKILL://s/SKILL.md'],
    ['no scheme', 's/SKILL.md'],
    ['no scheme', ''],
    ['space before', ' skill://s/SKILL.md'],
    ['a newline', 'skill://s/a\nb'],
    ['a tab', 'skill://s/\ta'],
    ['a NUL', 'skill://s/a\0'],
    ['DEL', 'skill://s/a\u{7F}'],
    ['a malformed escape', 'skill://s/%'],
    ['a malformed escape', 'skill://s/%4'],
    ['a malformed escape', 'skill://s/%zz'],
    ['an escape that is not UTF-8', 'skill://s/%ff'],
    ['an overlong slash', 'skill://s/%c0%af'],
    ['an overlong dot', 'skill://s/%c0%ae%c0%ae'],
    ['an encoded surrogate', 'skill://s/%ed%a0%80'],
    ['a raw surrogate', 'skill://s/\u{D800}'],
    ['a raw surrogate, last', 'skill://\u{DC00}'],
    ['more characters than any path has', `skill://s/${'a'.repeat(8192)}`],
  ])('for %s, %j is refused with a reason', (_, raw) => {
    const uri = readSkillUri(raw)

    expect(uri).toEqual({ ok: false, why: expect.stringMatching(/./) })
  })
})

describe('for every path', () => {
  test('the published URI is canonical, and read as the path that it was made from', () => {
    fc.assert(
      fc.property(segments, (path) => {
        const uri = skillUri(path)

        expect(readSkillUri(uri)).toEqual({ ok: true, canonical: uri, trailingSlash: false })
        expect(uri).toMatch(/^skill:\/\/[!-~]+$/)
        expect(uri.slice('skill://'.length).split('/').map(decodeURIComponent)).toEqual(path)
      }),
      { numRuns: 1000 },
    )
  })

  test('another path has another URI', () => {
    fc.assert(
      fc.property(segments, segments, (a, b) => {
        fc.pre(a.join('/') !== b.join('/'))

        expect(skillUri(a)).not.toBe(skillUri(b))
      }),
      { numRuns: 1000 },
    )
  })

  test('the folders above are its beginnings, down to the source', () => {
    fc.assert(
      fc.property(segments, (path) => {
        const above = path.slice(0, -1).map((_, index) => skillUri(path.slice(0, index + 1)))

        expect([...folderUrisAbove(skillUri(path))]).toEqual(above.toReversed())
      }),
    )
  })
})

describe('for every text', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(
        fc.constantFrom(
          '/',
          '%',
          '2',
          'f',
          'F',
          '5',
          'c',
          'e',
          '.',
          '..',
          '%2e',
          '%2f',
          '%25',
          ' ',
          'ü',
          '\u{D800}',
          '?',
          '@',
          'a',
          's',
        ),
        { maxLength: 14 },
      )
      .map((tokens) => `skill://s${tokens.join('')}`),
  )

  test('what is accepted leads to a form that leads to itself, and no other decoding is there', () => {
    fc.assert(
      fc.property(anything, (raw) => {
        const uri = readSkillUri(raw)
        if (!uri.ok) return

        expect(canonical(uri.canonical)).toBe(uri.canonical)
        const path = raw.slice('skill://'.length, uri.trailingSlash ? -1 : undefined).split('/')
        expect(uri.canonical).toBe(skillUri(path.map(decodeURIComponent)))
        expect(decodeURIComponent(uri.canonical)).not.toMatch(/[\\\0]/)
      }),
      { numRuns: 3000 },
    )
  })
})

test('the URI of a source is that of the empty path below it', () => {
  expect(uriOf('s', '')).toBe('skill://s')
  expect(uriOf('s', 'a b/SKILL.md')).toBe('skill://s/a%20b/SKILL.md')
})
