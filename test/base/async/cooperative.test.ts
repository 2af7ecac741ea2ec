import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runNow, sorting } from '../../../src/base/async/cooperative.ts'

test('what is sorted in steps stands as if it were sorted at one go, equal items in the order in which they came', () => {
  const items = fc.array(fc.record({ key: fc.nat(50), at: fc.nat() }), { maxLength: 5_000, size: 'max' })
  const byKey = (a: { readonly key: number }, b: { readonly key: number }): number => a.key - b.key

  fc.assert(
    fc.property(items, (all) => {
      expect(runNow(sorting(all, byKey))).toEqual(all.toSorted(byKey))
    }),
    { numRuns: 50 },
  )
})
