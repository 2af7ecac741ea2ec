import { MOST_CHARACTERS } from './query.ts'

/**
 * The words of a text, as the index holds them and a query asks for them: small, without accents and endings. Text that is
 * written without spaces goes in pairs of characters.
 */
export function termsIn(text: string): string[] {
  const folded = text.normalize('NFKD').replace(MARKS, '').toLowerCase()
  return [...folded.matchAll(WORDS)].flatMap(([word]) => (UNSPACED.test(word) ? pairsIn(word) : [stemOf(word)]))
}

/** Those of what somebody asked, each once, without words that say nothing; those too where there are no others. */
export function termsAsked(text: string): string[] {
  const words = [...new Set(termsIn(text.slice(0, MOST_CHARACTERS)))]
  const telling = words.filter((word) => !SILENT.has(word))
  return (telling.length > 0 ? telling : words).slice(0, MOST_TERMS)
}

/** Each is looked for by itself, with what it begins and what it may have been meant to be. */
const MOST_TERMS = 24

const MARKS = /\p{Mn}+/gu
const WORDS = /[\p{L}\p{N}]+/gu
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/** The longest that is told from what goes on after it. */
const WORD_CHARACTERS = 40

function pairsIn(word: string): string[] {
  const characters = Array.from(word).slice(0, WORD_CHARACTERS)
  if (characters.length < 3) return [characters.join('')]
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)
}

/** Without the endings that English gives a word: what is left need be no word, only the same for all of its forms. */
function stemOf(word: string): string {
  const whole = word.slice(0, WORD_CHARACTERS)
  if (whole.length < 4 || /[^a-z]/.test(whole)) return whole
  const single = whole.replace(/ies$/, 'y').replace(/(?<![su])s$/, '')
  const present = single.replace(/(?<=[aeiouy].*[^aeiou])(?:ing|ed)$/, '').replace(/([b-df-hj-km-np-rt-v])\1$/, '$1')
  return present.length > 4 ? present.replace(/e$/, '') : present
}

/** Words of a request that are in every other text, and words that only frame it; without their endings. */
const SILENT: ReadonlySet<string> = new Set(
  [
    'a an and any are as at be been but by can could do does for from get had has have he her his how i if in into is it its',
    'just let like make me my need no not of on or our please she should so some such that the their them then there these they',
    'this to up us use using used want was we were what when where which who will with would you your help about',
  ].flatMap((line) => termsIn(line)),
)
