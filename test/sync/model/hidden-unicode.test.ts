import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeHidden, hiddenIn, hiddenInFile, splitAtHidden } from '../../../src/sync/model/hidden-unicode.ts'

describe('a text', () => {
  test.each([
    ['tag characters', 'a\u{E0041}\u{E0042}', 'U+E0041 U+E0042 at 1:2'],
    ['a flag that is none', '\u{1F3F4}\u{E0068}\u{E0069}\u{E007F}', 'U+E0068 U+E0069 U+E007F at 1:2'],
    ['a bidirectional override', 'x\n\u202Ey', 'U+202E at 2:1'],
    ['isolates', '\u2066a\u2069', 'U+2066 at 1:1; U+2069 at 1:3'],
    ['direction marks', 'a\u200E\u200F\u061C', 'U+200E U+200F U+061C at 1:2'],
    ['a zero-width space', 'pass\u200Bword', 'U+200B at 1:5'],
    ['joiners between Latin letters', 'a\u200Cb\u200Dc', 'U+200C at 1:2; U+200D at 1:4'],
    ['a byte order mark in the middle', 'a\uFEFF', 'U+FEFF at 1:2'],
    ['a second byte order mark', '\uFEFF\uFEFF', 'U+FEFF at 1:2'],
    ['a variation selector behind a letter', 'a\uFE0F', 'U+FE0F at 1:2'],
    ['a second variation selector', '❤\uFE0F\uFE0F', 'U+FE0F at 1:3'],
    ['a supplementary variation selector', '😀\u{E0100}\u{E01EF}', 'U+E0100 U+E01EF at 1:2'],
    ['a soft hyphen', 'hy\u00ADphen', 'U+00AD at 1:3'],
    ['invisible operators', 'f\u2061x\u2062\u2063\u2064', 'U+2061 at 1:2; U+2062 U+2063 U+2064 at 1:4'],
    ['an interlinear annotation', '\uFFF9a\uFFFAb\uFFFB', 'U+FFF9 at 1:1; U+FFFA at 1:3; U+FFFB at 1:5'],
    ['fillers', '\u3164\u115F\uFFA0', 'U+3164 U+115F U+FFA0 at 1:1'],
  ])('with %s is found out', (_, text, places) => {
    const hidden = hiddenIn(text)

    expect(describeHidden(hidden!).replace(/^\d+ in all, /, '')).toBe(places)
  })

  test.each([
    ['plain', 'Read the file, then write it.\n\tTwice.\r\n'],
    ['emoji', '⚠️ 1️⃣ ☎︎ 👩🏽‍💻 👨‍👩‍👧 ❤️‍🔥 🏳️‍🌈 🐦‍⬛'],
    ['the flags of England, Scotland and Wales', '🏴󠁧󠁢󠁥󠁮󠁧󠁿🏴󠁧󠁢󠁳󠁣󠁴󠁿🏴󠁧󠁢󠁷󠁬󠁳󠁿'],
    ['Persian', 'می‌خواهم'],
    ['Hindi', 'क्‍ष'],
    ['Hebrew, Arabic and Chinese', 'שלום مرحبا 你好'],
    ['that begins with a byte order mark', '\uFEFFname'],
  ])('that is %s has nothing to hide', (_, text) => {
    expect(hiddenIn(text)).toBeUndefined()
  })

  test('is described without one of the characters, however many it holds', () => {
    const hidden = fc.constantFrom('\u200B', '\u202E', '\u{E0041}', '\u00AD', 'a', '\n', '😀')
    const law = fc.property(fc.array(hidden, { maxLength: 200 }), (characters) => {
      const found = hiddenIn(characters.join(''))
      const expected = characters.filter((character) => /\p{Default_Ignorable_Code_Point}/u.test(character)).length
      const said = found === undefined ? '' : describeHidden(found)
      return (found?.count ?? 0) === expected && /^[\x20-\x7e…]*$/.test(said) && said.length < 600
    })

    expect(fc.check(law, { numRuns: 500 }).failed).toBe(false)
  })

  test('is counted no further than to ten thousand', () => {
    const found = hiddenIn('\u200B'.repeat(20_000))

    expect(describeHidden(found!)).toMatch(/^at least 10000 in all, (?:U\+200B ){8}and 9992 more at 1:1$/)
  })
})

describe('a file', () => {
  test('is looked into although a byte of it is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([0xff]), Buffer.from('a\u{E0041}')])

    expect(hiddenInFile(bytes)).toMatchObject({ count: 1, runs: [{ line: 1, column: 3 }] })
  })

  test('is looked into although it holds a NUL, if it is UTF-8', () => {
    expect(hiddenInFile(Buffer.from('\0\u200B'))).toMatchObject({ count: 1 })
  })

  test('that is binary is nobody’s text', () => {
    expect(hiddenInFile(Buffer.concat([Buffer.from([0x89, 0, 0xff]), Buffer.from('\u200B')]))).toBeUndefined()
  })
})

describe('a text that is split', () => {
  test('has its hidden characters by their numbers, and all else as it stands', () => {
    expect(splitAtHidden('a\u200B\u{E0041}b\u202E')).toEqual([
      { text: 'a' },
      { names: 'U+200B U+E0041' },
      { text: 'b' },
      { names: 'U+202E' },
    ])
    expect(splitAtHidden('plain')).toEqual([{ text: 'plain' }])
    expect(splitAtHidden('')).toEqual([])
  })

  test('keeps every character that is seen, in its order, and hides none', () => {
    const characters = fc.constantFrom('a', ' ', '\n', 'é', '👩', '\u200D', '\u200B', '\u202E', '\u{E0041}', '\u00AD')
    fc.assert(
      fc.property(fc.array(characters, { maxLength: 60 }), (parts) => {
        const text = parts.join('')
        const found = splitAtHidden(text)

        const shown = found.flatMap((part) => ('text' in part ? [part.text] : []))
        expect(found.some((part) => 'names' in part)).toBe(hiddenIn(text) !== undefined)
        expect(shown.join('').replaceAll('\u200D', '')).toBe(
          text.replaceAll(/[\u200B\u202E\u{E0041}\u00AD\u200D]/gu, ''),
        )
      }),
    )
  })
})
