import { expect, test } from 'vitest'
import { isFailureRise } from '../../../src/features/rings/ring-promotions.ts'
import type { UseFigures } from '../../../src/features/rings/ring-promotions.ts'

const MOST = 0.05

test.each<[string, UseFigures | undefined, UseFigures | undefined, boolean]>([
  ['no uses at all', undefined, undefined, false],
  ['content that was never used', { uses: 10, failures: 10 }, undefined, false],
  ['two failures of two uses', undefined, { uses: 2, failures: 2 }, false],
  ['three failures of three uses', undefined, { uses: 3, failures: 3 }, true],
  ['three failures of many uses', undefined, { uses: 60, failures: 3 }, false],
  ['three failures of fewer uses', undefined, { uses: 59, failures: 3 }, true],
  ['the share that there was before', { uses: 100, failures: 50 }, { uses: 10, failures: 5 }, false],
  ['a greater share than before', { uses: 100, failures: 50 }, { uses: 10, failures: 6 }, true],
  ['a smaller share than before', { uses: 10, failures: 9 }, { uses: 10, failures: 3 }, false],
  ['one failure of one use before', { uses: 1, failures: 1 }, { uses: 10, failures: 10 }, true],
  ['content before without a use', { uses: 0, failures: 0 }, { uses: 4, failures: 3 }, true],
])('%s', (_, before, after, isRise) => {
  expect(isFailureRise(before, after, MOST)).toBe(isRise)
})

test('a limit of 100 % allows every failure', () => {
  expect(isFailureRise(undefined, { uses: 1_000, failures: 1_000 }, 1)).toBe(false)
})
