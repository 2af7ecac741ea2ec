import { expect, test } from 'vitest'
import { fewText } from '../../../src/base/text/first-few.ts'

test.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a, b'],
  [['a', 'b', 'c'], 'a, b, c'],
  [['a', 'b', 'c', 'd'], 'a, b and 2 more'],
])('of %j two are named, and a rest of one is named as well', (names, text) => {
  expect(fewText(names, 2)).toBe(text)
})
