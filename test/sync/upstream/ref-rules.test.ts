import { expect, test } from 'vitest'
import {
  candidatesOf,
  chooseRef,
  refNotFound,
  revisionOfCommit,
  type Ref,
} from '../../../src/sync/upstream/ref-rules.ts'
import { objectId } from './reached.ts'

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
  expect(chooseRef(asked, LISTING, 'team')).toEqual(revision)
})

test('a name that is a branch and a tag is ambiguous, and the message has both', () => {
  expect(() => chooseRef('both', LISTING, 'team')).toThrow(
    'Cannot resolve "both" of "team": there are "refs/heads/both" and "refs/tags/both"',
  )
})

test('a HEAD that points to a commit stays HEAD', () => {
  expect(chooseRef(undefined, [{ name: 'HEAD', id: TWO }], 'team')).toMatchObject({ ref: 'HEAD', commit: TWO })
})

test.each(['refs/heads/\u001b[2J', 'refs/heads/', 'refs/heads/a b', `refs/heads/${'x'.repeat(300)}`, 'elsewhere'])(
  'a target of HEAD that no branch can have is not repeated: %j',
  (target) => {
    expect(chooseRef(undefined, [{ name: 'HEAD', id: TWO, target }], 'team')).toMatchObject({ ref: 'HEAD' })
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
  expect(candidatesOf('v1')).toEqual(['refs/heads/v1', 'refs/tags/v1'])
  expect(candidatesOf('refs/heads/v1')).toEqual(['refs/heads/v1'])
})

test('what is not found is told from a repository that is empty', () => {
  expect(refNotFound('x', 'team', false).message).toBe('Cannot resolve "x" of "team": no such ref')
  expect(refNotFound(undefined, 'team', true).message).toContain('the repository has no commits')
  expect(refNotFound(undefined, 'team', false).message).toContain('its HEAD points to no branch')
})
