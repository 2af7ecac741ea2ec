import { expect, test } from 'vitest'
import { agoText, dueText, sinceText } from '../../../src/base/text/age-text.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')

test.each([
  [0, 'now'],
  [999, 'now'],
  [1_000, '1 s ago'],
  [119_999, '119 s ago'],
  [120_000, '2 min ago'],
  [7_199_999, '119 min ago'],
  [7_200_000, '2 h ago'],
  [172_799_999, '47 h ago'],
  [172_800_000, '2 days ago'],
  [40 * 86_400_000, '40 days ago'],
  [-180_000, 'now'],
])('what was %i ms ago is told as "%s"', (ms, text) => {
  expect(agoText(new Date(NOW.getTime() - ms).toISOString(), NOW)).toBe(text)
})

test('what is due is not told as something of the past', () => {
  expect(dueText('2026-06-15T11:00:00.000Z', NOW)).toBe('due now')
  expect(dueText('2026-06-15T12:05:00.000Z', NOW)).toBe('in 5 min')
})

test('what began later, by a clock that was set back since, has lasted for no time', () => {
  expect(sinceText('2026-06-15T11:55:00.000Z', NOW)).toBe('5 min')
  expect(sinceText('2026-06-17T12:00:00.000Z', NOW)).toBe('0 s')
})
