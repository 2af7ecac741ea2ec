import { expect, test } from 'vitest'
import { HourlySums } from '../../../src/daemon/runtime/hourly-sums.ts'
import { idOf } from '../../support/mirror.ts'

const AU = idOf('au')

test('what was counted in the last hour is summed by source, and what is older is not', () => {
  let nowMs = 0
  const sums = new HourlySums({ monotonicMs: () => nowMs })
  sums.add(AU, 5)
  nowMs = 1_800_000
  sums.add(AU, 7)
  sums.add(idOf('other'), 100)

  const sumAt = (ms: number): number => {
    nowMs = ms
    return sums.of(AU)
  }

  expect([1_800_000, 3_599_999, 3_600_000, 5_399_999, 5_400_000].map(sumAt)).toEqual([12, 12, 7, 7, 0])
})

test('so many small files as a server can send in an hour are counted, to the byte', () => {
  let nowMs = 0
  const sums = new HourlySums({ monotonicMs: () => nowMs })

  for (let file = 0; file < 100_000; file += 1) {
    nowMs = file * 30
    sums.add(AU, 1)
  }

  expect(sums.of(AU)).toBe(100_000)
})
