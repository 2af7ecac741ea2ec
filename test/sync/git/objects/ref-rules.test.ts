import { expect, test } from 'vitest'
import {
  chooseRef,
  patternsOf,
  patternsOfMissing,
  refNotFound,
  revisionOf,
  revisionOfCommit,
  type Ref,
} from '../../../../src/sync/git/objects/ref-rules.ts'
import { sourceId } from '../../store/samples.ts'
import { objectId } from '../../upstream/reached.ts'

const ONE = objectId('1'.repeat(40))
const TWO = objectId('2'.repeat(40))
const TAG = objectId('9'.repeat(40))

const LISTING: readonly Ref[] = [
  { name: 'HEAD', id: ONE, target: 'refs/heads/trunk' },
  { name: 'refs/heads/both', id: ONE },
  { name: 'refs/heads/refs/odd', id: TWO },
  { name: 'refs/heads/trunk', id: ONE },
  { name: 'refs/heads/trunk2', id: TWO },
  { name: 'refs/pull/7/head', id: TWO },
  { name: 'refs/tags/both', id: TWO },
  { name: 'refs/tags/light', id: TWO },
  { name: 'refs/tags/v1', id: TAG, peeled: TWO },
]

test.each<[string | undefined, object | undefined]>([
  [undefined, { asked: undefined, ref: 'refs/heads/trunk', commit: ONE }],
  ['HEAD', { asked: 'HEAD', ref: 'refs/heads/trunk', commit: ONE }],
  ['trunk', { asked: 'trunk', ref: 'refs/heads/trunk', commit: ONE }],
  ['refs/heads/trunk', { asked: 'refs/heads/trunk', ref: 'refs/heads/trunk', commit: ONE }],
  ['light', { asked: 'light', ref: 'refs/tags/light', commit: TWO }],
  ['v1', { asked: 'v1', ref: 'refs/tags/v1', commit: TWO, tag: TAG }],
  ['refs/tags/v1', { asked: 'refs/tags/v1', ref: 'refs/tags/v1', commit: TWO, tag: TAG }],
  ['refs/heads/both', { asked: 'refs/heads/both', ref: 'refs/heads/both', commit: ONE }],
  ['refs/tags/both', { asked: 'refs/tags/both', ref: 'refs/tags/both', commit: TWO }],
  ['refs/pull/7/head', { asked: 'refs/pull/7/head', ref: 'refs/pull/7/head', commit: TWO }],
  ['trun', undefined],
  ['refs/odd', undefined],
  ['pull/7/head', undefined],
  ['', undefined],
])('in a listing, %s means %j', (asked, revision) => {
  const found = chooseRef(asked, LISTING, 'team')

  expect(found && revisionOf(asked, found)).toEqual(revision)
})

test('a name that is a branch and a tag is ambiguous, and the message has both', () => {
  expect(() => chooseRef('both', LISTING, 'team')).toThrow(
    'Cannot resolve "both" of "team": there are "refs/heads/both" and "refs/tags/both"',
  )
})

test('a HEAD that points to a commit stays HEAD', () => {
  expect(revisionOf(undefined, { name: 'HEAD', id: TWO })).toMatchObject({ ref: 'HEAD', commit: TWO })
})

test.each(['refs/heads/\u001b[2J', 'refs/heads/', 'refs/heads/a b', `refs/heads/${'x'.repeat(300)}`, 'elsewhere'])(
  'a target of HEAD that no branch can have is not repeated: %j',
  (target) => {
    expect(revisionOf(undefined, { name: 'HEAD', id: TWO, target })).toMatchObject({ ref: 'HEAD' })
  },
)

test('a full commit id needs no listing, whatever its case', () => {
  const asked = 'ABCDEF0123456789ABCDEF0123456789ABCDEF01'
  const lower = asked.toLowerCase()

  expect(revisionOfCommit(asked)).toEqual({ asked, ref: lower, commit: lower })
  expect(revisionOfCommit(asked.slice(1))).toBeUndefined()
  expect(revisionOfCommit(undefined)).toBeUndefined()
})

test('a short name is a branch or a tag, and a full name only itself', () => {
  expect(patternsOf('v1')).toEqual(['HEAD', 'refs/heads/v1', 'refs/tags/v1'])
  expect(patternsOf('refs/heads/v1')).toEqual(['HEAD', 'refs/heads/v1'])
})

test('what is not found is told from a repository that is empty', () => {
  expect(refNotFound(place('x'), [], false).message).toBe('Cannot resolve "x" of "team": no such ref')
  const empty = refNotFound(place(undefined), [], true)

  expect(empty.message).toContain('the repository has no commits')
  expect(empty.fix).toContain('Push a first commit')
})

test.each([undefined, 'HEAD'])('a default branch that is not there is answered by a `ref` to set: %s', (ref) => {
  const { message, fix } = refNotFound(place(ref), [], false)

  expect(message).toContain('its HEAD points to no branch')
  expect(fix).toBe('Set `ref` to a branch or a tag, or let HEAD of the repository point to a branch that is there')
})

test('a branch that is gone is told with the one that is the default now', () => {
  expect(refNotFound(place('master'), LISTING, false).message).toBe(
    'Cannot resolve "master" of "team": no such ref; its default branch is "refs/heads/trunk"',
  )
})

test.each([
  [
    'feat',
    'a/skills',
    'set `ref: feat/a` and `root: skills`; on a command line, write https://host.example/o/r#feat/a:skills',
  ],
  ['feat', 'a', 'set `ref: feat/a` and no `root`; on a command line, write https://host.example/o/r#feat/a'],
  ['rel', 'b&c/my skills', 'write https://host.example/o/r#rel/b%26c:my%20skills'],
  ['install', '', '#install behind an address is read as a branch: leave it out if it is an anchor of the page'],
  ['feat', 'b/skills', 'none'],
  ['feat/x', '', 'none'],
])('the next step for the missing ref %s with the root "%s": %s', (ref, root, fix) => {
  const listing = ['refs/heads/feat/a', 'refs/heads/feat/bc', 'refs/tags/rel/b&c'].map((name) => ({ name, id: ONE }))

  const error = refNotFound(place(ref, root), listing, false)

  expect(error.fix ?? 'none').toContain(fix)
})

test('the listing for a missing ref has the names that reach into the root', () => {
  const longer = ['refs/heads/feat/a', 'refs/tags/feat/a', 'refs/heads/feat/a/skills', 'refs/tags/feat/a/skills']

  expect(patternsOfMissing(place('feat', 'a/skills'))).toEqual([...patternsOf('feat'), ...longer])
  expect(patternsOfMissing(place('feat'))).toEqual(patternsOf('feat'))
})

function place(ref: string | undefined, root = '') {
  return { id: sourceId('team'), url: 'https://host.example/o/r', ref, root }
}

const VERSIONS: readonly Ref[] = [
  'v1.9.0',
  'v2.0.0-rc.1',
  'v2.1.0',
  'v2.1.0-beta',
  '2.4.0',
  'tools-v3.0.0',
  'v02.9.0',
].map((tag) => ({ name: `refs/tags/${tag}`, id: ONE }))

test.each<[string, string, boolean, string | undefined]>([
  ['^2', 'v', false, 'v2.1.0'],
  ['^2', '', false, '2.4.0'],
  ['*', 'tools-v', false, 'tools-v3.0.0'],
  ['>=1 <2.1.0', 'v', false, 'v1.9.0'],
  ['>=1 <2.1.0', 'v', true, 'v2.1.0-beta'],
  ['>=2.0.0-rc.0 <2.1.0', 'v', false, undefined],
  ['^9', 'v', false, undefined],
])('the range %s after "%s", pre-releases %s, is the tag %s', (range, prefix, prereleases, tag) => {
  const found = chooseRef({ range, prefix, prereleases }, VERSIONS, 'team')

  expect(found?.name).toBe(tag && `refs/tags/${tag}`)
})

test('two tags for one version are one too many', () => {
  const listing = ['v1.0.0', '1.0.0'].map((tag) => ({ name: `refs/tags/${tag}`, id: ONE }))

  expect(() => chooseRef({ range: '1', prefix: '', prereleases: false }, listing, 'team')).toThrow(
    'Cannot resolve "1" of "team": there are "refs/tags/1.0.0" and "refs/tags/v1.0.0"',
  )
})
