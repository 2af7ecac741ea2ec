import { expect, test } from 'vitest'
import {
  isWaiting,
  rulesAfter,
  rulesAfterHold,
  rulesAfterRollback,
  type Verb,
} from '../../../src/daemon/pull/decide.ts'
import { decisionOf, type SourceDecision } from '../../../src/sync/model/decisions/decisions.ts'
import type { SourceRule } from '../../../src/sync/model/decisions/rules.ts'
import { isSameRevision, isObjectId, type ObjectId, type Revision } from '../../../src/sync/model/revision.ts'
import { sourceId } from '../../sync/store/samples.ts'

const A = revision('a')
const B = revision('b')
const NOW = new Date('2026-06-15T10:00:00.000Z')
const at = NOW.toISOString()
const TEAM = sourceId('team')
const DECIDER = { at, by: 'person' } as const
const ABOUT = { source: TEAM, decider: DECIDER }
const SITUATION = { ...ABOUT, served: A, waiting: B, isLockLost: false, pending: 0 }
const HELD: SourceDecision = { hold: { commit: A.commit, at } }
const EVERYTHING: SourceDecision = {
  hold: { commit: B.commit, noPoll: true, reason: 'release week', at },
  skipped: { commit: B.commit, by: 'reject' },
  ringHolds: { stable: { at } },
}

function decided(verb: Verb, before: SourceDecision, commit?: string): SourceDecision {
  return decisionOf(rulesAfter(verb, rulesOf(before), { ...SITUATION, commit }))
}

test.each<[Verb, SourceDecision, SourceDecision]>([
  ['hold', {}, HELD],
  ['hold', EVERYTHING, { ...EVERYTHING, ...HELD }],
  ['release', HELD, {}],
  ['release', EVERYTHING, { skipped: EVERYTHING.skipped!, ringHolds: EVERYTHING.ringHolds! }],
  [
    'release',
    { skipped: { commit: B.commit, by: 'rollback' }, approved: { commit: A.commit } },
    { approved: { commit: A.commit } },
  ],
  ['release', { ...HELD, skipped: { commit: B.commit, by: 'rollback' } }, {}],
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
  ['release', {}, undefined, /is neither held nor rolled back/],
  ['release', { skipped: EVERYTHING.skipped! }, undefined, /is neither held nor rolled back/],
  ['approve', HELD, B.commit, /^"team" is held at a{40}, whatever waits; skillsyncd release team lets it move$/],
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

test('a hold has its reason, and whether the host is asked', () => {
  const details = { reason: 'release week', noPoll: true }

  expect(decisionOf(rulesAfter('hold', [], { ...SITUATION, hold: details }))).toEqual({
    hold: { commit: A.commit, ...details, at },
  })
  const held = rulesAfterHold(rulesOf(EVERYTHING), { ...ABOUT, served: A, hold: details })
  expect(decisionOf(held)).toEqual({
    hold: { commit: A.commit, ...details, at },
    ringHolds: EVERYTHING.ringHolds,
  })
})

test('a source of which nothing is served can be held only if its host is not asked', () => {
  const nothing = { ...SITUATION, served: undefined }

  expect(decisionOf(rulesAfter('hold', [], { ...nothing, hold: { noPoll: true } }))).toEqual({
    hold: { noPoll: true, at },
  })
  expect(() => rulesAfter('hold', [], nothing)).toThrow(/^Nothing of "team" is served that it could be held at/)
})

test('an approval is of the tag object too, and of no other one for the same commit', () => {
  const situation = { ...SITUATION, waiting: { ...B, tag: A.commit } }
  const named = (tag?: ObjectId) => decisionOf(rulesAfter('approve', [], { ...situation, commit: B.commit, tag }))

  expect(named(A.commit)).toEqual({ approved: { commit: B.commit, tag: A.commit } })
  for (const tag of [undefined, B.commit])
    expect(() => named(tag)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`(tag object ${A.commit})`) }),
    )
})

test('nothing waits where what upstream has could not be seen, or was never stopped', () => {
  const waiting = (['mass-deletion', 'tag-moved', 'rejected', 'awaiting-approval'] as const).map(isWaiting)
  const not = (['held', 'source-unreachable', 'ref-not-found', undefined] as const).map(isWaiting)

  expect([...waiting, ...not]).toEqual([true, true, true, true, false, false, false, false])
})

test.each<[string, SourceDecision, SourceDecision]>([
  ['passes over what was left', {}, { skipped: { commit: B.commit, by: 'rollback' } }],
  [
    'takes a hold along',
    EVERYTHING,
    { hold: { ...EVERYTHING.hold!, commit: A.commit }, ringHolds: { stable: { at } } },
  ],
])('a rollback %s', (_, before, after) => {
  expect(decisionOf(rulesAfterRollback(rulesOf(before), { from: B, to: A }, ABOUT))).toEqual(after)
})

test('a rollback to the commit that is served passes over nothing', () => {
  expect(isSameRevision(A, revision('a'))).toBe(true)
  expect(rulesAfterRollback([], { from: A, to: revision('a') }, ABOUT)).toEqual([])
  expect(rulesAfterRollback([], { from: undefined, to: A }, ABOUT)).toEqual([])
})

/** The rules that say this about the source. */
function rulesOf({ hold, skipped, approved, ringHolds = {} }: SourceDecision): readonly SourceRule[] {
  const rules: SourceRule[] = []
  for (const [ring, held] of Object.entries(ringHolds))
    rules.push({ ...DECIDER, ...held, effect: 'stay', on: { source: TEAM, ring } })
  if (hold !== undefined) rules.push({ ...DECIDER, ...hold, effect: 'stay', on: { source: TEAM } })
  if (skipped !== undefined) {
    const { by, ...on } = skipped
    rules.push({ ...DECIDER, effect: 'skip', on: { source: TEAM, ...on }, ...(by === 'rollback' && { isLeft: true }) })
  }
  if (approved !== undefined) rules.push({ ...DECIDER, effect: 'take', on: { source: TEAM, ...approved } })
  return rules
}

function revision(digit: string): Revision {
  return { asked: undefined, ref: 'refs/heads/main', commit: id(digit.repeat(40)) }
}

function id(text: string): ObjectId {
  if (!isObjectId(text)) throw new Error(text)
  return text
}
