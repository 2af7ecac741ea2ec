import { expect, test } from 'vitest'
import { decisionAfter, decisionAfterRollback, isWaiting, type Verb } from '../../../src/daemon/pull/decide.ts'
import type { SourceDecision } from '../../../src/sync/model/decisions/decisions.ts'
import { isSameRevision, isObjectId, type ObjectId, type Revision } from '../../../src/sync/model/revision.ts'

const A = revision('a')
const B = revision('b')
const SITUATION = { source: 'team', served: A, waiting: B, pending: 0 }
const EVERYTHING: SourceDecision = {
  paused: true,
  frozen: { commit: A.commit, by: 'pin' },
  skipped: { commit: B.commit, by: 'reject' },
}

const PIN: SourceDecision = { frozen: { commit: A.commit, by: 'pin' } }

function decided(verb: Verb, before: SourceDecision, commit?: string): SourceDecision {
  return decisionAfter(verb, before, { ...SITUATION, commit })
}

test.each<[Verb, SourceDecision, SourceDecision]>([
  ['pause', {}, { paused: true }],
  ['pause', { paused: true }, { paused: true }],
  ['resume', { paused: true }, {}],
  ['resume', EVERYTHING, { skipped: EVERYTHING.skipped! }],
  ['resume', { frozen: { commit: A.commit, by: 'rollback' } }, {}],
  [
    'resume',
    { skipped: { commit: B.commit, by: 'rollback' }, approved: { commit: A.commit } },
    { approved: { commit: A.commit } },
  ],
  ['pin', { paused: true }, { paused: true, frozen: { commit: A.commit, by: 'pin' } }],
  ['pin', { frozen: { commit: B.commit, by: 'rollback' } }, { frozen: { commit: A.commit, by: 'pin' } }],
  ['resume', PIN, {}],
  ['approve', { skipped: { commit: B.commit, by: 'reject' } }, { approved: { commit: B.commit } }],
  [
    'approve',
    { skipped: { commit: A.commit, by: 'reject' } },
    { skipped: { commit: A.commit, by: 'reject' }, approved: { commit: B.commit } },
  ],
  ['reject', { approved: { commit: B.commit } }, { skipped: { commit: B.commit, by: 'reject' } }],
])('%s changes its own part of a decision and no other: %j', (verb, before, after) => {
  const isOfWaiting = verb === 'approve' || verb === 'reject'

  expect(decided(verb, before, isOfWaiting ? B.commit : undefined)).toEqual(after)
})

test.each<[Verb, SourceDecision, string | undefined, RegExp]>([
  ['resume', {}, undefined, /is not paused, pinned or rolled back/],
  ['resume', { skipped: EVERYTHING.skipped! }, undefined, /is not paused, pinned or rolled back/],
  ['pin', {}, 'abc', /^The store has no commit of "team" that begins with "abc"/],
  ['approve', {}, A.commit, /^Cannot approve a{40}: what waits of "team" is b{40}; skillsyncd approve team shows it$/],
  ['approve', {}, B.commit.slice(0, 39), /what waits of "team" is b{40}/],
  ['approve', {}, undefined, /^Cannot approve what is not named: what waits of "team" is b{40}/],
  ['reject', {}, 'bbbb', /what waits of "team" is b{40}/],
  ['reject', {}, undefined, /what waits of "team" is b{40}/],
])('%s where there is nothing of the kind says what there is: %j', (verb, before, commit, says) => {
  expect(() => decided(verb, before, commit)).toThrow(
    expect.objectContaining({ code: 'nothing-to-decide', message: expect.stringMatching(says) }),
  )
})

test.each<[string, SourceDecision, SourceDecision]>([
  ['a pause', { ...PIN, paused: true }, PIN],
  ['a skipped revision', { ...PIN, skipped: { commit: B.commit, by: 'rollback' } }, PIN],
  ['a rollback', { frozen: { commit: A.commit, by: 'rollback' } }, {}],
])('resume of all sources ends %s, and keeps a pin', (_, before, after) => {
  expect(decisionAfter('resume', before, { ...SITUATION, keepsPin: true })).toEqual(after)
})

test('resume of all sources has nothing to do for a source that is pinned alone', () => {
  expect(() => decisionAfter('resume', PIN, { ...SITUATION, keepsPin: true })).toThrow(
    '"team" is pinned; skillsyncd resume team ends the pin',
  )
})

test('a source is pinned at any full commit id, and at the waiting commit by its first digits', () => {
  expect(decided('pin', {}, B.commit)).toEqual({ frozen: { commit: B.commit, by: 'pin' } })
  expect(decided('pin', {}, 'bbbb')).toEqual({ frozen: { commit: B.commit, by: 'pin' } })
})

test('an approval is of the tag object too, and of no other one for the same commit', () => {
  const situation = { ...SITUATION, waiting: { ...B, tag: A.commit } }
  const named = (tag?: ObjectId) => decisionAfter('approve', {}, { ...situation, commit: B.commit, tag })

  expect(named(A.commit)).toEqual({ approved: { commit: B.commit, tag: A.commit } })
  for (const tag of [undefined, B.commit])
    expect(() => named(tag)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`(tag object ${A.commit})`) }),
    )
})

test('nothing waits where what upstream has could not be seen, or was never held', () => {
  const waiting = (['mass-deletion', 'tag-moved', 'rejected', 'awaiting-approval'] as const).map(isWaiting)
  const not = (['paused', 'pinned', 'source-unreachable', 'ref-not-found', undefined] as const).map(isWaiting)

  expect([...waiting, ...not]).toEqual([true, true, true, true, false, false, false, false, false])
})

test.each<[string, SourceDecision, boolean, SourceDecision]>([
  ['holds', EVERYTHING, true, { paused: true, frozen: { commit: A.commit, by: 'rollback' } }],
  ['passes over what was left', {}, false, { skipped: { commit: B.commit, by: 'rollback' } }],
  [
    'takes a pin along',
    { frozen: { commit: B.commit, by: 'pin' } },
    false,
    { frozen: { commit: A.commit, by: 'pin' } },
  ],
  [
    'ends an earlier hold',
    { frozen: { commit: B.commit, by: 'rollback' } },
    false,
    { skipped: { commit: B.commit, by: 'rollback' } },
  ],
])('a rollback %s', (_, before, hold, after) => {
  expect(decisionAfterRollback(before, B, A, hold)).toEqual(after)
})

test('a rollback to the commit that is served passes over nothing', () => {
  expect(isSameRevision(A, revision('a'))).toBe(true)
  expect(decisionAfterRollback({}, A, revision('a'), false)).toEqual({})
  expect(decisionAfterRollback({}, undefined, A, false)).toEqual({})
})

function revision(digit: string): Revision {
  return { asked: undefined, ref: 'refs/heads/main', commit: id(digit.repeat(40)) }
}

function id(text: string): ObjectId {
  if (!isObjectId(text)) throw new Error(text)
  return text
}
