import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { baseName, folderOf, foldedPath, foldersAbove, isBelow, joinPath, relativeTo } from '../../src/base/paths.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', 'ü'), minLength: 1, maxLength: 4 })
const path = fc.array(name, { maxLength: 4 }).map((names) => names.join('/'))
const someFile = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))

describe('for every path', () => {
  test('folder and last segment join to it again', () => {
    fc.assert(
      fc.property(someFile, (file) => {
        expect(joinPath(folderOf(file), baseName(file))).toBe(file)
      }),
    )
  })

  test('what was joined to a folder lies below it, and is the same seen from there', () => {
    fc.assert(
      fc.property(path, someFile, (folder, file) => {
        expect(isBelow(joinPath(folder, file), folder)).toBe(true)
        expect(relativeTo(folder, joinPath(folder, file))).toBe(file)
        expect(relativeTo(folder, folder)).toBe('')
        expect(isBelow(folder, folder)).toBe(false)
      }),
    )
  })

  test('it lies below exactly the folders above it, the nearest first', () => {
    fc.assert(
      fc.property(path, path, (one, other) => {
        const above = [...foldersAbove(one)]

        expect(above.includes(other)).toBe(isBelow(one, other))
        expect(above).toEqual(above.toSorted((a, b) => b.length - a.length))
        expect(above.at(-1)).toBe(one === '' ? undefined : '')
      }),
    )
  })

  test('folding it twice is folding it once', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (text) => {
        expect(foldedPath(foldedPath(text))).toBe(foldedPath(text))
      }),
      { numRuns: 2000, examples: [['ẞ']] },
    )
  })

  test.each(['ẞ', 'ß', 'SS'])('%s folds to ss', (text) => {
    expect(foldedPath(text)).toBe('ss')
  })
})

test('a folder whose name another begins with is not above it', () => {
  expect(isBelow('ab/c', 'a')).toBe(false)
  expect(isBelow('a', 'ab')).toBe(false)
})

test.each([
  ['case', 'README.md', 'Readme.MD'],
  ['the form of an accent', 'caf\u{E9}', 'cafe\u{301}'],
  ['both at once', 'CAFE\u{301}', 'caf\u{E9}'],
  ['a sharp s and its capitals', 'stra\u{DF}e', 'STRASSE'],
  ['a final sigma', '\u{3C3}', '\u{3C2}'],
  ['the Kelvin sign', 'K', '\u{212A}'],
  ['a long s', 's', '\u{17F}'],
  ['a ligature in capitals', '\u{FB01}', 'FI'],
])('paths that differ in %s alone are one where a disk folds them', (_, a, b) => {
  expect(foldedPath(a)).toBe(foldedPath(b))
})

test.each([
  ['a', 'b'],
  ['a-b', 'a_b'],
  ['i', '\u{131}x'],
  ['\u{2460}', '1'],
])('%j and %j stay two', (a, b) => {
  expect(foldedPath(a)).not.toBe(foldedPath(b))
})
