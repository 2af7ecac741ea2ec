import { expect, test } from 'vitest'
import { RecentCache } from '../../src/base/recent-cache.ts'

test('what was set last is remembered, and no more than so much', () => {
  const lately = new RecentCache<number>(2)

  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
    ['c', 4],
  ] as const)
    lately.set(key, value)

  expect(['a', 'b', 'c'].map((key) => lately.get(key))).toEqual([3, undefined, 4])
  lately.delete('c')
  expect(lately.get('c')).toBeUndefined()
})
