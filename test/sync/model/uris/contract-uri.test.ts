import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contractUri, readContractUri } from '../../../../src/sync/model/uris/contract-uri.ts'
import type { ContractTarget } from '../../../../src/sync/model/uris/contract-uri.ts'

describe('a URI', () => {
  test.each<[string, ContractTarget]>([
    ['resource://catalog/skills_index', { kind: 'index' }],
    ['resource://catalog/skills/git-workflow', { kind: 'record', skillId: 'git-workflow' }],
    ['resource://skills/a/document', { kind: 'document', skillId: 'a' }],
    ['resource://skills/a-/document', { kind: 'document', skillId: 'a-' }],
    ['resource://skills/a1--b/references/r-2', { kind: 'reference', skillId: 'a1--b', refId: 'r-2' }],
    [
      'resource://skills/document/references/references',
      { kind: 'reference', skillId: 'document', refId: 'references' },
    ],
    [`resource://catalog/skills/${'a'.repeat(300)}`, { kind: 'record', skillId: 'a'.repeat(300) }],
    ['resource://docs/index.md', { kind: 'doc', path: 'index.md' }],
    ['resource://docs/skills/a/references/B.MD', { kind: 'doc', path: 'skills/a/references/B.MD' }],
    ['resource://docs/a%20b%3F%23.md', { kind: 'doc', path: 'a b?#.md' }],
    ['resource://docs/a%2520b.md', { kind: 'doc', path: 'a%20b.md' }],
    ['resource://docs/%C3%BC.md', { kind: 'doc', path: 'ü.md' }],
    ['resource://docs/...md', { kind: 'doc', path: '...md' }],
  ])('%s is read, and is its own canonical form', (raw, named) => {
    expect(readContractUri(raw)).toEqual({ ok: true, canonical: raw, named })
    expect(contractUri(named)).toBe(raw)
  })

  test.each([
    ['resource://skills/%61%2d1/document', 'resource://skills/a-1/document'],
    ['resource://catalog/skills/%61', 'resource://catalog/skills/a'],
    ['resource://docs/%c3%bc.md', 'resource://docs/%C3%BC.md'],
    ['resource://docs/ü b.md', 'resource://docs/%C3%BC%20b.md'],
    ['resource://docs/%69ndex%2Emd', 'resource://docs/index.md'],
  ])('%s leads to %s', (raw, canonical) => {
    expect(readContractUri(raw)).toMatchObject({ ok: true, canonical })
  })

  test.each([
    'Bad_Id',
    '1x',
    '-a',
    'a_b',
    'a.b',
    'ä',
    '..',
    '.',
    '%2e%2e',
    '%2E',
    '',
    '%2F',
    'a%2Fb',
    'a%00',
    'a%',
    '%ff',
    'a%0a',
    'a\n',
    'a b',
    'a?b',
    'a#b',
    'a\\b',
    'a%5Cb',
    '%2561',
    '{skill_id}',
  ])('%j is no id of a skill or of a reference', (id) => {
    for (const raw of [`catalog/skills/${id}`, `skills/${id}/document`, `skills/${id}/references/a`]) {
      expect(readContractUri(`resource://${raw}`), raw).toMatchObject({ ok: false, isMalformed: true })
    }
    expect(readContractUri(`resource://skills/a/references/${id}`)).toMatchObject({ ok: false, isMalformed: true })
  })

  test.each([
    '',
    '/',
    '/etc/a.md',
    'a//b.md',
    './a.md',
    'a/./b.md',
    '../a.md',
    'a/../b.md',
    'a/..',
    'a.md/',
    'a.md/..',
    '%2e%2e/a.md',
    '%2E%2E/a.md',
    '.%2e/a.md',
    '%2e/a.md',
    '%2Fetc/a.md',
    'a%2F..%2Fb.md',
    'a%5Cb.md',
    'a\\b.md',
    'a%00.md',
    'a.md%00',
    'a\0.md',
    'a%0A.md',
    'a%7F.md',
    'a%C2%80.md',
    'a.md?x',
    'a.md#x',
    'a%ED%A0%80.md',
    '%.md',
    'note.txt',
    'skills',
    'a.md.txt',
    '.md',
    'a/.md',
    'md',
    'a.mdx',
    'C:\\a.md',
  ])('%j is no path of a document', (path) => {
    expect(readContractUri(`resource://docs/${path}`)).toMatchObject({ ok: false, isMalformed: true })
  })

  test.each([
    '',
    'resource://',
    'resource:/docs/a.md',
    'RESOURCE://docs/a.md',
    'Resource://docs/a.md',
    ' resource://docs/a.md',
    'skill://docs/a.md',
    'file:///etc/passwd',
    'resource://catalog',
    'resource://catalog/',
    'resource://catalog/skills',
    'resource://catalog/skills_index/',
    'resource://catalog/skills_index?x',
    'resource://catalog/skills%5Findex',
    'resource://%63atalog/skills_index',
    'resource://%64ocs/a.md',
    'resource://skills/a/%64ocument',
    'resource://skills/a/%72eferences/b',
    'resource://catalog/skills/a/',
    'resource://catalog/skills/a/document',
    'resource://skills/a',
    'resource://skills/a/',
    'resource://skills/a/document/',
    'resource://skills/a/document?x',
    'resource://skills/a/references',
    'resource://skills/a/references/b/c',
    'resource://skills/a/SKILL.md',
    'resource://user@docs/a.md',
    'resource://docs:80/a.md',
    'resource://__proto__/a',
    `resource://docs/${'a'.repeat(9000)}.md`,
  ])('%j is none of the family', (raw) => {
    expect(readContractUri(raw)).toMatchObject({ ok: false, isMalformed: false })
  })
})

const TOKENS = [
  '/',
  '//',
  '%',
  '2',
  'e',
  'E',
  'f',
  '.',
  '..',
  '%2e',
  '%2E',
  '%2f',
  '%25',
  '%00',
  '%5c',
  '\\',
  '\0',
  '\n',
  ' ',
  'ü',
  '\u{D800}',
  '?',
  '#',
  '@',
  ':',
  'a',
  'Z',
  '-',
  '_',
  '.md',
  '.MD',
  'document',
  'references',
  'skills',
  'docs',
]
const BEGINNINGS = [
  '',
  'skills/',
  'skills/a/',
  'skills/a/references/',
  'catalog/',
  'catalog/skills/',
  'docs/',
  'docs/a',
]

const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .tuple(
      fc.constantFrom(...BEGINNINGS),
      fc.array(fc.constantFrom(...TOKENS), { maxLength: 12 }),
      fc.constantFrom('', '/document', '.md'),
    )
    .map(([beginning, tokens, end]) => `resource://${beginning}${tokens.join('')}${end}`),
)

test('whatever a client writes is refused, or leads to a canonical form that says the same, is its own, and climbs nowhere', () => {
  let [accepted, refused] = [0, 0]
  const law = fc.property(anything, (raw) => {
    const uri = readContractUri(raw)
    if (!uri.ok) {
      refused += 1
      return
    }
    accepted += 1
    expect(readContractUri(uri.canonical)).toEqual(uri)
    expect(contractUri(uri.named)).toBe(uri.canonical)
    expect(uri.canonical).toBe(raw.split('/').map(encodedAnew).join('/'))
    for (const segment of uri.canonical.slice('resource://'.length).split('/').map(decodeURIComponent)) {
      expect(['', '.', '..']).not.toContain(segment)
      expect(segment).not.toMatch(/[/\\]|\p{Cc}/u)
    }
    expect(JSON.stringify(uri.named)).toMatch(LEGAL)
  })
  fc.assert(law, { numRuns: 5_000 })

  expect(Math.min(accepted, refused)).toBeGreaterThan(20)
})

/** What can be named at all: by ids, and by paths of Markdown. */
const LEGAL =
  /^\{"kind":"index"\}$|^\{"kind":"(record|document|reference)","skillId":"[a-z][a-z0-9-]*"(,"refId":"[a-z][a-z0-9-]*")?\}$|^\{"kind":"doc","path":".*[^/]\.[mM][dD]"\}$/

/** A segment in the one spelling that we publish. The scheme is no segment. */
function encodedAnew(segment: string, index: number): string {
  return index === 0 ? segment : encodeURIComponent(decodeURIComponent(segment))
}
