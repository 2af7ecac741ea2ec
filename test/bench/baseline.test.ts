import { expect, test } from 'vitest'
import { baselineOf, worseThan } from '../../bench/baseline.ts'
import { figureOf } from '../../bench/figure.ts'

test('a figure is kept by what it compares, with its ratio', () => {
  const figures = [figureOf('poll', [{ resolve: 10, 'git ls-remote': 40 }], ['resolve', 'git ls-remote'])]

  expect(baselineOf(figures)).toEqual({ 'poll: resolve / git ls-remote': 0.25 })
})

test('a ratio may grow by a quarter, and no further', () => {
  expect(worseThan({ a: 2, b: 2 }, { a: 2.5, b: 2.6 })).toEqual(['b is 2.60; it was 2.00'])
})

test('a figure that nobody measured, or that came to no number, is worse', () => {
  expect(worseThan({ gone: 1, broken: 1 }, { broken: Number.NaN })).toEqual([
    'gone was not measured; it was 1.00',
    'broken is NaN; it was 1.00',
  ])
})

test('a figure that is new, or better, is not worse', () => {
  expect(worseThan({ a: 2 }, { a: 1, b: 9 })).toEqual([])
})
