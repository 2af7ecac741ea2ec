import { expect, test } from 'vitest'
import { declarationOf, isApproved, withApproval, withEnded } from '../../../../src/sync/model/decisions/approvals.ts'
import type { AdmitRule } from '../../../../src/sync/model/decisions/rules.ts'
import { ADA } from '../../../support/decided.ts'
import { sample, snapshotOf } from '../../store/samples.ts'
import type { Sample } from '../../store/samples.ts'

const ENDED = '2026-02-01T00:00:00.000Z'
const [ONE, TWO] = [sample('pdf', { 'SKILL.md': 'one' }), sample('pdf', { 'SKILL.md': 'two' })]

function approvalOf({ skill }: Sample): AdmitRule {
  const { source } = snapshotOf()
  return { ...ADA, who: 'ada', effect: 'admit', on: { source, path: skill.path, declaration: declarationOf(skill)! } }
}

test('an approval of another declaration ends, and is none when that declaration returns', () => {
  const [ended] = withEnded([approvalOf(ONE)], snapshotOf(TWO), ENDED)

  expect(ended).toEqual({ ...approvalOf(ONE), ended: ENDED })
  expect(isApproved(ONE.skill, ended as AdmitRule)).toBe(false)
})

test('an approval that replaced an outdated one meanwhile stays', () => {
  const rules = withApproval([approvalOf(ONE)], approvalOf(TWO))

  expect(withEnded(rules, snapshotOf(TWO), ENDED)).toBe(rules)
})

test('an approval of a skill that is not there, or of another source, stays', () => {
  const { on, ...rest } = approvalOf(ONE)
  const rules = [approvalOf(ONE), { ...rest, on: { ...on, path: 'other' } }]

  expect(withEnded(rules, snapshotOf(), ENDED)).toBe(rules)
  expect(withEnded(rules, { ...snapshotOf(TWO), source: 'else' as never }, ENDED)).toBe(rules)
})

test('a skill whose approval has ended is approved anew', () => {
  const ended = withEnded([approvalOf(ONE)], snapshotOf(TWO), ENDED)

  expect(withApproval(ended, approvalOf(ONE))).toEqual([approvalOf(ONE)])
})
