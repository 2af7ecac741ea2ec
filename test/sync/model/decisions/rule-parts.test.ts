import { expect, test } from 'vitest'
import { rulesInParts } from '../../../../src/sync/model/decisions/rule-parts.ts'
import type { AdmitRule, Rule, WithdrawRule } from '../../../../src/sync/model/decisions/rules.ts'
import { ADA } from '../../../support/decided.ts'
import { sourceId } from '../../store/samples.ts'

const TEAM = sourceId('team')

function out(path: string): WithdrawRule {
  const on = { places: [{ source: TEAM, path }], beside: [], contents: [] }
  return { ...ADA, effect: 'withdraw', reach: 'hub', on }
}

function approved(path: string): AdmitRule {
  return { ...ADA, who: 'ada', effect: 'admit', on: { source: TEAM, path, declaration: '0'.repeat(64) } }
}

const [ONE, TWO, PDF, XLS] = [out('one'), out('two'), approved('pdf'), approved('xls')]
const BEFORE = rulesInParts([ONE, PDF, TWO])

test.each<[string, readonly Rule[]]>([
  ['one is gone', [ONE, PDF]],
  ['one is new', [ONE, PDF, TWO, out('three')]],
  ['the last one is another', [ONE, PDF, out('two')]],
  ['the first one is another', [out('one'), PDF, TWO]],
  ['their order is another', [TWO, PDF, ONE]],
])('the rules that keep skills out of service are another list if %s, and the approvals the same', (_, rules) => {
  const after = rulesInParts(rules, BEFORE)

  expect(after.outOfService).toStrictEqual(rules.filter((rule) => rule !== PDF))
  expect(after.outOfService).not.toBe(BEFORE.outOfService)
  expect(after.approvals).toBe(BEFORE.approvals)
})

test.each<[string, readonly Rule[]]>([
  ['one is gone', [ONE, TWO]],
  ['one is new', [ONE, PDF, XLS, TWO]],
  ['one is another', [ONE, XLS, TWO]],
])('the approvals are another list if %s, and the rules that keep skills out of service the same', (_, rules) => {
  const after = rulesInParts(rules, BEFORE)

  expect(after.approvals).toStrictEqual(rules.filter(({ effect }) => effect === 'admit'))
  expect(after.approvals).not.toBe(BEFORE.approvals)
  expect(after.outOfService).toBe(BEFORE.outOfService)
})
