import { expect, test } from 'vitest'
import type { Overlap } from '../../../../src/sync/catalog/budget/budget-summary.ts'
import { overlapLines } from '../../../../src/sync/catalog/budget/budget-text.ts'

const pair = (name: string): Overlap => ({ a: { id: name, name }, b: { id: `${name}2`, name }, likeness: 0.9 })
const lineOf = (name: string): string => `overlap: ${name} and ${name}2 share 90 % of their words`
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

test.each([
  [5, true, []],
  [6, true, []],
  [6, false, ['overlap: there may be other pairs; the search ended at a limit']],
  [7, true, ['overlap: 2 other pairs']],
  [7, false, ['overlap: 2 or more other pairs']],
])(
  'of %d pairs the first are told, and of the rest the number, unless it is one: all found %j',
  (count, isAll, rest) => {
    const told = names.slice(0, count)

    const lines = overlapLines({ overlaps: told.map(pair), allOverlaps: isAll })

    expect(lines).toEqual([...told.slice(0, count > 6 ? 5 : 6).map(lineOf), ...rest])
  },
)
