import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  describeHidden,
  hiddenIn,
  hiddenInDocument,
  hiddenInFile,
  splitAtHidden,
  withDeceitEscaped,
  withHiddenEscaped,
  withoutHidden,
} from '../../../src/sync/skill/hidden-unicode.ts'

test.each([
  ['little-endian', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('x\u{e0041}\u{e0042}y', 'utf16le')])],
  ['big-endian', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('x\u{e0041}\u{e0042}y', 'utf16le')]).swap16()],
])('a file of %s UTF-16 with its mark is searched as text', (_, bytes) => {
  expect(hiddenInFile(bytes)).toMatchObject({ deceit: 'smuggled', count: 2 })
})

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
    ['fillers', '\u3164\u115F\u1160\uFFA0', 'U+3164 U+115F U+1160 U+FFA0 at 1:1'],
    ['an escape that conceals', 'a\u001B[8mb', 'U+001B at 1:2'],
    ['an escape in one character', 'a\u009B8mb', 'U+009B at 1:2'],
    ['a line that is written over', 'Do this\rDo that', 'U+000D at 1:8'],
    ['a line that is written over at its end', 'Do this\r\r\r\r\nDo that', 'U+000D at 1:8'],
    ['backspaces', 'rm\b\bls', 'U+0008 U+0008 at 1:3'],
    ['a NUL, a bell and a DEL', 'a\0b\u0007c\u007F', 'U+0000 at 1:2; U+0007 at 1:4; U+007F at 1:6'],
    ['a page break inside a line', 'a\fb\v', 'U+000C at 1:2; U+000B at 1:4'],
    ['other ends of lines', 'a\u0085b\u2028c\u2029', 'U+0085 at 1:2; U+2028 at 1:4; U+2029 at 1:6'],
    ['blanks that are no spaces', 'a\u2800b\u{1D159}', 'U+2800 at 1:2; U+1D159 at 1:4'],
    ['private use', 'a\uE000\u{F0041}\u{100000}', 'U+E000 U+F0041 U+100000 at 1:2'],
    ['what is no character', 'a\uFFFF\uFDD0', 'U+FFFF U+FDD0 at 1:2'],
    ['the place of an object', 'a\uFFFC', 'U+FFFC at 1:2'],
    ['half a character', 'a\uD800', 'U+D800 at 1:2'],
    ['variation selectors behind digits', '1\uFE0F2\uFE0E3', 'U+FE0F at 1:2; U+FE0E at 1:4'],
    ['variation selectors behind punctuation', '.\uFE00,\uFE01+\uFE0F', 'U+FE00 at 1:2; U+FE01 at 1:4; U+FE0F at 1:6'],
    ['a joiner between an emoji and a digit', '😀\u200D1', 'U+200D at 1:2'],
    ['two joiners in Persian', 'می\u200C\u200Cخواهم', 'U+200C U+200C at 1:3'],
    ['a direction mark in Latin text', 'a\u200Fb', 'U+200F at 1:2'],
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
    ['with lines from Windows', 'a\r\nb\r\r\nc\r\n\r'],
    ['with a page break between its lines', 'a\n\fb\n'],
    ['Arabic and Hebrew with direction marks', 'C++\u200E שלום\u200F! مرحبا\u061C'],
    ['Malayalam and Marathi with joiners at the ends of words', 'അവന്\u200D വന്നു. क्\u200D'],
    ['Thai and Khmer, with places to break a line', 'ภาษา\u200Bไทย ភាសា\u200Bខ្មែរ'],
    ['a picture in Braille', '⠁⠀⠀⠂\n⠀⠂'],
    ['Japanese with the registered form of a name', '葛\u{E0100}飾区'],
    ['a mathematical sign in another form', '∩\uFE00'],
  ])('that is %s has nothing to hide', (_, text) => {
    expect(hiddenIn(text)).toBeUndefined()
  })

  test.each([
    ['tags', 'a\u{E0041}', 'smuggled'],
    ['bytes as variation selectors', '😀\u{E0148}\u{E0159}', 'smuggled'],
    ['tags after an override', '\u202Ea\u{E0041}', 'smuggled'],
    ['overrides', 'a\u202Eb', 'disguised'],
    ['embeddings', 'a\u202Ab\u202C', 'disguised'],
    ['isolates', 'a\u2067b\u2069', 'disguised'],
    ['escapes to a terminal', 'a\u001B[8mb', 'disguised'],
    ['escapes in one character', 'a\u009B8mb', 'disguised'],
    ['zero-width spaces', 'a\u200Bb', undefined],
    ['the flag of Wales', '🏴󠁧󠁢󠁷󠁬󠁳󠁿\u200B', undefined],
  ])('with %s is known for what these do', (_, text, deceit) => {
    expect(hiddenIn(text)?.deceit).toBe(deceit)
  })

  test('that deceives is known and told of however many other hidden characters stand before it', () => {
    const found = hiddenIn(`${'a\u00AD'.repeat(20_000)}\u{E0041}`)

    expect(found?.deceit).toBe('smuggled')
    expect(describeHidden(found!)).toMatch(/^at least 10000 in all, .*U\+E0041 at 1:40001; …$/)
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

test('a text can be had without what is hidden, or with all of it or what deceives as escapes', () => {
  const text = 'a\u200Bb\u{E0041}\r\nc\u001B[8m👩‍💻'

  expect(withoutHidden(text)).toBe('ab\r\nc [8m👩‍💻')
  expect(withHiddenEscaped(text)).toBe('a\\u{200B}b\\u{E0041}\r\nc\\u{001B}[8m👩‍💻')
  expect(withDeceitEscaped(text)).toBe('a\u200Bb\\u{E0041}\r\nc\\u{001B}[8m👩‍💻')
})

test('every character that Unicode calls ignorable, private, half or none at all is found', () => {
  const isMeant = /[\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}]/u
  const missed: string[] = []
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const character = String.fromCodePoint(code)
    if (isMeant.test(character) && hiddenIn(`a${character}b`)?.count !== 1) missed.push(code.toString(16))
  }

  expect(missed).toEqual([])
})

describe('a file', () => {
  test('of ASCII alone is looked into for controls', () => {
    expect(hiddenInFile(Buffer.from('Read this\u001B[8mand that'))).toMatchObject({ count: 1, deceit: 'disguised' })
    expect(hiddenInFile(Buffer.from('Read this,\r\n\tand that\n'))).toBeUndefined()
  })

  test('is looked into although a byte of it is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([0xff]), Buffer.from('a\u{E0041}')])

    expect(hiddenInFile(bytes)).toMatchObject({ count: 1, runs: [{ line: 1, column: 3 }] })
  })

  test('is looked into although it holds a NUL, if it is UTF-8', () => {
    expect(hiddenInFile(Buffer.from('\0\u200B'))).toMatchObject({ count: 2, runs: [{ length: 2 }] })
  })

  test('of bytes that are not UTF-8 is a binary, of which only what no binary has by chance counts', () => {
    const binary = Buffer.from(Array.from({ length: 300 }, (_, at) => ((at * 89 + 7) % 255) + 1))
    const smuggling = Buffer.concat([binary, Buffer.from('\u{E0041}\u200B')])
    const latin = Buffer.from(`${'plain '.repeat(20)}caf\u00E9 \u001B[8m`, 'latin1')

    expect(hiddenInFile(binary)).toBeUndefined()
    expect(hiddenInFile(smuggling)).toMatchObject({ count: 2, deceit: 'smuggled' })
    expect(hiddenInFile(latin)).toMatchObject({ count: 1, deceit: 'disguised' })
  })

  test.each(['utf16le', 'utf-16be'])('that is a SKILL.md in %s is searched as the text that it is', (encoding) => {
    const little = Buffer.from('---\nname: a\u{E0041}\n---\n', 'utf16le')
    const bytes = encoding === 'utf16le' ? little : little.swap16()

    expect(hiddenInDocument(bytes)).toMatchObject({ count: 1, runs: [{ line: 2, column: 8 }] })
    expect(hiddenInDocument(bytes.subarray(0, 24))).toBeUndefined()
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

test.each([
  ['of no text', 'Buffer.alloc(2 ** 24, 0xff)', null],
  ['of controls', "Buffer.from('\\u0001a'.repeat(2 ** 23) + '\\xff', 'latin1')", null],
  ['with an override in it', "Buffer.concat([Buffer.alloc(2 ** 23, 0xff), Buffer.from('\\u202e')])", 'disguised'],
])('a large binary %s is searched in the memory of a thread', async (_, bytes, deceit) => {
  expect(await deceitInThread('hiddenInFile', bytes)).toBe(deceit)
})

test('a large file of escapes is searched in the memory of a thread', async () => {
  const bytes = String.raw`Buffer.from('\\xe9'.repeat(2 ** 22) + '\\u202e')`

  expect(await deceitInThread('hiddenInEscapes', bytes)).toBe('disguised')
})

async function deceitInThread(search: string, bytes: string): Promise<unknown> {
  const code = `import { parentPort } from 'node:worker_threads'
    const { ${search} } = await import(${JSON.stringify(BUILT)})
    parentPort.postMessage(${search}(${bytes})?.deceit ?? null)`
  const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`)

  const [found] = await once(new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: 256 } }), 'message')
  return found
}

const BUILT = new URL('../../../dist/sync/skill/hidden-unicode.js', import.meta.url).href
