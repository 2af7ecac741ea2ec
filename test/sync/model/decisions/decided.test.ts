import { expect, test } from 'vitest'
import { decidedText } from '../../../../src/daemon/status/decision-text.ts'
import { byPerson, withDecided } from '../../../../src/sync/model/decisions/decided.ts'
import type { Decided, Decider } from '../../../../src/sync/model/decisions/decided.ts'
import { sourceId } from '../../store/samples.ts'

const DAY = 86_400_000
const team = sourceId('team')

function after(days: number, decider: Partial<Decider> = { by: 'person', who: 'ada' }): Decided {
  const at = new Date(Date.parse('2026-01-01T00:00:00.000Z') + days * DAY).toISOString()
  return { at, by: 'person', ...decider, decision: 'hold', source: team }
}

function historyOf(decided: readonly Decided[]): readonly Decided[] {
  return decided.reduce<readonly Decided[]>(withDecided, [])
}

test('a history has what was decided in the 90 days before its newest decision', () => {
  const history = historyOf([after(0), after(1), after(90), after(91)])

  expect(history).toEqual([after(1), after(90), after(91)])
})

test('a scan of thousands of skills takes no decision of a person out of the history', () => {
  const scans = Array.from({ length: 3_000 }, (_, index) => after(1 + index / 10_000, { by: 'scan' }))

  const history = historyOf([after(0), ...scans, after(2)])

  expect(history).toHaveLength(102)
  expect(history.filter(({ by }) => by === 'person')).toEqual([after(0), after(2)])
  expect(history.at(-2)).toEqual(scans.at(-1))
})

test('of the decisions of people the latest thousand stay', () => {
  const all = Array.from({ length: 1_001 }, (_, index) => after(index / 1_000))

  expect(historyOf(all)).toEqual(all.slice(1))
})

test.each([
  [
    { decision: 'hold', source: team, commit: 'abc', reason: 'it breaks pdf' },
    'hold team at abc by ada: it breaks pdf',
  ],
  [{ decision: 'release', source: team, ring: 'stable' }, 'release team in the ring stable by ada'],
  [
    { decision: 'disable', source: team, skill: 'pdf', forFollowers: true },
    'disable team/pdf by ada, for all followers',
  ],
  [{ decision: 'disable', source: team, skill: '' }, 'disable the root of team by ada'],
  [{ decision: 'enable', skill: '\u001B[31mred' }, 'enable \\u{1b}[31mred by ada'],
] as const)('%o is told on one line', (decided, text) => {
  expect(decidedText({ ...byPerson('ada', new Date(0)), ...decided })).toBe(text)
})

test('a decision that no person of this hub made names what made it', () => {
  const one = { at: '2026-01-01T00:00:00.000Z', decision: 'disable', source: team, skill: 'pdf' } as const

  expect(decidedText({ ...one, by: 'scan' })).toBe('disable team/pdf by a scan')
  expect(decidedText({ ...one, by: 'hub', who: 'hub.example/log' })).toBe('disable team/pdf by the hub hub.example/log')
})
