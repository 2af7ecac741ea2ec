import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isMassFinding } from '../../../src/daemon/scan/scan-judgement.ts'
import type { ScannedSkill, ScanJudgement } from '../../../src/daemon/scan/scan-judgement.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'

test.each([
  ['one of two', { refused: 1, withheld: 0, all: 2 }, false],
  ['the only one', { refused: 1, withheld: 0, all: 1 }, true],
  ['two of ten', { refused: 2, withheld: 0, all: 10 }, true],
  ['two of twenty', { refused: 2, withheld: 0, all: 20 }, false],
  ['one more, where scans withhold two of twenty', { refused: 1, withheld: 2, all: 20 }, true],
  ['none, where scans withhold all', { refused: 0, withheld: 20, all: 20 }, false],
])('at ten percent, %s', (_, numbers, isMass) => {
  expect(isMassFinding(judgementOf(numbers), 10)).toBe(isMass)
})

test('runs in a row never take more out of service than the share, or one of several', () => {
  const runs = fc.array(fc.nat(30), { maxLength: 10 })
  fc.assert(
    fc.property(runs, fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1, max: 100 }), (finds, all, percent) => {
      let withheld = 0
      for (const found of finds) {
        const refused = Math.min(found, all - withheld)
        if (!isMassFinding(judgementOf({ refused, withheld, all }), percent)) withheld += refused
      }
      expect(withheld).toBeLessThanOrEqual(Math.max(1, (all * percent) / 100))
    }),
  )
})

function judgementOf({ refused, ...numbers }: Record<'refused' | 'withheld' | 'all', number>): ScanJudgement {
  const source = 'team'
  if (!isSourceId(source)) throw new TypeError(source)
  const skills = Array.from({ length: refused }, (_, index): ScannedSkill => ({ source, path: `${index}`, digest: '' }))
  return { refused: skills, accepted: [], cleared: [], ...numbers }
}
