/**
 * Words of a text with letters that look like Latin ones but are not: people read something else than programs compare.
 */
export interface LookAlikes {
  /** The number of such words. */
  readonly count: number
  /** The first few. */
  readonly words: readonly LookAlike[]
}

/** A word with its place. Each non-ASCII character of it is escaped. */
export interface LookAlike {
  /** From 1. */
  readonly line: number
  readonly written: string
  /** The Latin letters that it looks like. */
  readonly seen: string
}

/**
 * Finds three kinds of words: those that mix Latin letters with their look-alikes of other scripts (Unicode's UTS 39);
 * those that consist of look-alikes, in a text that is not in their script; and those in letters that stand for ASCII,
 * such as mathematical, full-width and circled ones. `undefined` if there are none.
 */
export function lookAlikesIn(text: string): LookAlikes | undefined {
  if (!SUSPECT.test(text)) return undefined
  const isForeign = OWN_SCRIPTS.test(text)
  const found = [...text.matchAll(WORD)].filter(({ 0: word, index }) =>
    STYLED_RUN.test(word) ? !isWide(word, index, text) : isMixed(word, isForeign),
  )
  if (found.length === 0) return undefined
  const words = found.slice(0, MOST_SHOWN).map(({ 0: word, index }) => ({
    line: text.slice(0, index).split('\n').length,
    written: escapeWord(word),
    seen: latinOf(word),
  }))
  return { count: found.length, words }
}

/** The words as a person reads them, with the code points of the deceptive characters. */
export function describeLookAlikes({ count, words }: LookAlikes): string {
  const shown = words.map(({ line, written, seen }) => `"${written}" is not "${seen}" at line ${line}`)
  return `${count} in all, ${shown.join('; ')}${count > words.length ? '; …' : ''}`
}

const MOST_SHOWN = 4
const MOST_CHARACTERS = 40

/** Full-width letters near Chinese, Japanese or Korean text are normal there. */
function isWide(word: string, index: number, text: string): boolean {
  return !DRAWN.test(word) && IDEOGRAPHS.test(text.slice(Math.max(0, index - BESIDE), index + word.length + BESIDE))
}

const BESIDE = 40

/** `isForeign`: the text is in a script of the look-alikes, so a word that consists of them may be a normal word. */
function isMixed(word: string, isForeign: boolean): boolean {
  if (!SUSPECT.test(word)) return false
  const letters = Array.from(word)
  const latin = letters.filter(isLatin).length
  const alike = letters.filter((_, at) => isAlike(letters, at)).length
  if (letters.length < FEWEST_LETTERS || alike === 0 || latin + alike < letters.length) return false
  return latin > 0 || !isForeign
}

/** Shorter ones are units, variables or signs. */
const FEWEST_LETTERS = 3

function isAlike(letters: readonly string[], at: number): boolean {
  const letter = letters[at] ?? ''
  if (ALIKE.has(letter)) return true
  // Formulas often have small Greek letters beside Latin ones, but not between them.
  return GREEK.has(letter) && isLatin(letters[at - 1]) && isLatin(letters[at + 1])
}

function isLatin(letter: string | undefined): boolean {
  return letter !== undefined && LATIN.test(letter)
}

function latinOf(word: string): string {
  const letters = Array.from(
    word.slice(0, MOST_CHARACTERS),
    (letter) => ALIKE.get(letter) ?? GREEK.get(letter) ?? letter,
  )
  return letters
    .join('')
    .normalize('NFKD')
    .replaceAll(/[^\0-\x7f]/g, '')
}

function escapeWord(word: string): string {
  return Array.from(word.slice(0, MOST_CHARACTERS).toWellFormed(), (letter) => {
    const code = letter.codePointAt(0) ?? 0
    return code < 0x80 ? letter : `\\u{${code.toString(16).toUpperCase().padStart(4, '0')}}`
  }).join('')
}

/** Cyrillic, Greek, Armenian and Cherokee letters, by the Latin letter that they look like. */
const ALIKE = byLetter({
  A: 'АΑᎪ',
  B: 'ВΒᏴ',
  C: 'СϹᏟ',
  E: 'ЕΕᎬ',
  G: 'ԌᏀ',
  H: 'НΗᎻ',
  I: 'ІΙ',
  J: 'ЈͿᎫ',
  K: 'КΚᏦ',
  L: 'Ꮮ',
  M: 'МΜᎷ',
  N: 'Ν',
  O: 'ОΟՕ',
  P: 'РΡᏢ',
  S: 'ЅՏᏚ',
  T: 'ТΤᎢ',
  U: 'Ս',
  V: 'ѴᏙ',
  W: 'ԜᎳ',
  X: 'ХΧ',
  Y: 'УҮΥ',
  Z: 'ΖᏃ',
  a: 'а',
  c: 'сϲ',
  d: 'ԁ',
  e: 'еҽ',
  g: 'ց',
  h: 'һհ',
  i: 'і',
  j: 'јϳ',
  k: 'к',
  l: 'ӏ',
  n: 'ո',
  o: 'оοօ',
  p: 'р',
  q: 'ԛ',
  s: 'ѕ',
  u: 'ս',
  v: 'ѵ',
  w: 'ԝ',
  x: 'х',
  y: 'уү',
})

const GREEK = byLetter({
  a: 'α',
  i: 'ι',
  k: 'κ',
  n: 'η',
  o: 'σ',
  p: 'ρ',
  t: 'τ',
  u: 'υ',
  v: 'ν',
  w: 'ω',
  x: 'χ',
  y: 'γ',
})

function byLetter(alike: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(alike).flatMap(([letter, others]) => Array.from(others, (one) => [one, letter] as const)),
  )
}

const LATIN = /\p{Script=Latin}/u

/** Letters of these scripts that are not look-alikes: a text with such letters is in one of the scripts. */
const OWN_SCRIPTS = new RegExp(
  String.raw`(?![${[...ALIKE.keys(), ...GREEK.keys()].join('')}])[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]`,
  'u',
)

/** Letters that stand for ASCII ones: full-width, mathematical, raised, circled, parenthesized and squared. */
const OTHERS = String.raw`\u{1D400}-\u{1D6A5}\u{2102}\u{210A}-\u{2113}\u{2115}\u{2119}-\u{211D}\u{2124}\u{212A}-\u{212D}\u{212F}-\u{2134}\u{2139}\u{1D2C}-\u{1D42}\u{1D43}-\u{1D5A}\u{249C}-\u{24E9}\u{1F110}-\u{1F149}\u{1F150}-\u{1F169}\u{1F170}-\u{1F189}`
const STYLED = String.raw`\u{FF21}-\u{FF3A}\u{FF41}-\u{FF5A}${OTHERS}`
const STYLED_RUN = new RegExp(`[${STYLED}]{${FEWEST_LETTERS}}`, 'u')
const DRAWN = new RegExp(`[${OTHERS}]`, 'u')
const IDEOGRAPHS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

const WORD = new RegExp(String.raw`[\p{L}\p{M}${STYLED}]+`, 'gu')
/** The first class passes ASCII in half the time of the second. */
const SUSPECT = new RegExp(String.raw`(?![\0-\x7f])[${[...ALIKE.keys(), ...GREEK.keys()].join('')}${STYLED}]`, 'u')
