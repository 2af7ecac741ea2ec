import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partsOf, pathOf, plainUpstreamUri, readUpstreamUri } from '../../../../src/sync/model/uris/upstream-uri.ts'

/** What a segment can stand for: any text but what names no file. */
const segment = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
    fc.string({
      unit: fc.constantFrom('~', 'a', '.', '%', '2', 'e', '@', ':', ' ', '+', 'ü'),
      minLength: 1,
      maxLength: 6,
    }),
    fc.constantFrom('~github', '~~', '~skill', 'SKILL.md', '%2e%2e', 'a%2Fb', '...', '[::1]', 'u@h:80', '\u{1F600}'),
  )
  .filter((text) => !/[/\\\0]/.test(text) && text !== '.' && text !== '..' && text.isWellFormed())
const scheme = fc.constantFrom('skill', 'SKILL', 'github', 'GitHub', 'a', 'x-y.z+1', 'skills', 'ski')

/** URIs that are read, each with its segments encoded no more than has to be, or all of it. */
const readable = fc
  .tuple(scheme, fc.array(segment, { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([name, segments, isFull]) => `${name}://${segments.map(isFull ? everyByte : encodeURIComponent).join('/')}`)

/** Anything at all, near enough to a URI to be one at times. */
const anything = fc.oneof(
  readable,
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        'skill:',
        'github:',
        '//',
        '/',
        '.',
        '..',
        '%2e',
        '%2F',
        '%5c',
        '%00',
        '~',
        'a',
        '?',
        '#',
        '\\',
        '%',
        '@',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
)

function everyByte(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

function read(raw: string): { readonly scheme: string; readonly segments: readonly string[] } | undefined {
  const uri = readUpstreamUri(raw)
  return uri.ok ? { scheme: uri.scheme, segments: uri.segments } : undefined
}

function pathFrom(raw: string): string | undefined {
  const uri = readUpstreamUri(raw)
  return uri.ok ? pathOf(uri) : undefined
}

describe('a URI that is read', () => {
  test('comes back from its path with the same parts', () => {
    fc.assert(
      fc.property(readable, (raw) => {
        expect(partsOf(pathFrom(raw) ?? '')).toEqual(read(raw))
      }),
    )
  })

  test('shares its path with no URI of other parts', () => {
    fc.assert(
      fc.property(readable, readable, (one, other) => {
        const areSame = JSON.stringify(read(one)) === JSON.stringify(read(other))

        expect(pathFrom(one) === pathFrom(other)).toBe(areSame)
      }),
    )
  })

  test('has a path without dot segments, empty segments or slashes in a segment, whatever was read', () => {
    fc.assert(
      fc.property(anything, (raw) => {
        const uri = readUpstreamUri(raw)
        if (!uri.ok) return

        const segments = pathOf(uri).split('/')

        expect(segments.filter((one) => ['', '.', '..'].includes(one) || /[\\\0]/.test(one))).toEqual([])
        expect(segments).toHaveLength(uri.segments.length + (uri.scheme === 'skill' ? 0 : 1))
      }),
    )
  })

  test('is read the same where it is written plainly', () => {
    fc.assert(
      fc.property(anything, (raw) => {
        const path = pathFrom(raw)
        if (path === undefined) return

        expect(read(plainUpstreamUri(path) ?? '')).toEqual(read(raw))
      }),
    )
  })

  test('has a path of its own where another scheme looks like a folder', () => {
    const folder = 'skill://~github/o/r/refunds/SKILL.md'
    const other = 'github://o/r/refunds/SKILL.md'

    const paths = [folder, other].map(pathFrom)

    expect(paths).toEqual(['~~github/o/r/refunds/SKILL.md', '~github/o/r/refunds/SKILL.md'])
    expect(paths.map((path) => plainUpstreamUri(path ?? ''))).toEqual([folder, other])
  })

  test('counts the case of its scheme for nothing, and that of all else', () => {
    expect(pathFrom('GitHub://O/r/SKILL.md')).toBe('~github/O/r/SKILL.md')
    expect(pathFrom('SKILL://a/SKILL.md')).toBe('a/SKILL.md')
  })
})

test.each([
  ['no scheme', 'a/SKILL.md'],
  ['a scheme that begins with a digit', '1a://a/SKILL.md'],
  ['a file', 'FiLe:///x/SKILL.md'],
  ['a file of a host', 'file://x/SKILL.md'],
  ['a script', 'javascript://x/SKILL.md'],
  ['no slashes', 'skill:a/SKILL.md'],
  ['an empty first segment', 'skill:///a/SKILL.md'],
  ['an empty segment', 'skill://a//SKILL.md'],
  ['a slash at its end', 'skill://a/SKILL.md/'],
  ['half of a surrogate pair', 'skill://a/\ud800/SKILL.md'],
  ['bytes that are no UTF-8', 'skill://a/%E9/SKILL.md'],
  ['an encoded NUL', 'skill://a/%00/SKILL.md'],
  ['a user', 'skill://u@a/SKILL.md'],
  ['a port', 'skill://a:80/SKILL.md'],
])('a URI with %s is refused', (_, raw) => {
  expect(readUpstreamUri(raw)).toMatchObject({ ok: false })
})

describe('the path of a URI', () => {
  // The scheme counts: it stands in the path. "skill/" comes to 6 bytes.
  test('has 2,048 bytes at most, however they are written', () => {
    const longest = 'ü'.repeat((2048 - 'skill/'.length) / 2)

    const uris = [longest, encodeURIComponent(longest), `${longest}a`, `${encodeURIComponent(longest)}a`]

    expect(uris.map((path) => readUpstreamUri(`skill://${path}`).ok)).toEqual([true, true, false, false])
  })

  test('has 128 segments at most', () => {
    const of = (count: number): string => `skill://${Array(count).fill('a').join('/')}`

    expect([of(128), of(129)].map((uri) => readUpstreamUri(uri).ok)).toEqual([true, false])
  })

  test('may come from no scheme that is as long', () => {
    expect(readUpstreamUri(`${'a'.repeat(3000)}://x/SKILL.md`).ok).toBe(false)
  })
})

test.each(['~', '~skill/a', '~Github/a', '~github', '~1/a', '~a b/c'])('no URI comes to the path %j', (path) => {
  expect(partsOf(path)).toBeUndefined()
  expect(plainUpstreamUri(path)).toBeUndefined()
})
