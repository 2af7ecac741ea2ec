import { MOST_CHARACTERS } from './query.ts'

/**
 * Returns the index terms of a text: lower case, without accents and endings. Text in scripts without spaces becomes
 * pairs of characters.
 */
export function termsIn(text: string): string[] {
  const folded = text.normalize('NFKD').replace(MARKS, '').toLowerCase()
  return [...folded.matchAll(WORDS)].flatMap(([word]) => (UNSPACED.test(word) ? pairsIn(word) : [stemOf(word)]))
}

/** Returns the distinct terms of a query without stop words; with them if there are no other terms. */
export function termsAsked(text: string): string[] {
  const words = [...new Set(termsIn(text.slice(0, MOST_CHARACTERS)))]
  const telling = words.filter((word) => !SILENT.has(word))
  return (telling.length > 0 ? telling : words).slice(0, MOST_TERMS)
}

/** Each term is searched separately, with its prefix and fuzzy matches. */
const MOST_TERMS = 24

const MARKS = /\p{Mn}+/gu
const WORDS = /[\p{L}\p{N}]+/gu
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/** Characters of a word that are indexed; words that differ only after them are equal. */
const WORD_CHARACTERS = 40

function pairsIn(word: string): string[] {
  const characters = Array.from(word).slice(0, WORD_CHARACTERS)
  if (characters.length < 3) return [characters.join('')]
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)
}

/** Removes English endings. The stem need not be a word; it must only be equal for all forms of the word. */
function stemOf(word: string): string {
  const whole = word.slice(0, WORD_CHARACTERS)
  if (whole.length < 4 || /[^a-z]/.test(whole)) return whole
  const single = whole.replace(/ies$/, 'y').replace(/(?<![su])s$/, '')
  const present = single.replace(/(?<=[aeiouy].*[^aeiou])(?:ing|ed)$/, '').replace(/([b-df-hj-km-np-rt-v])\1$/, '$1')
  return present.length > 4 ? present.replace(/e$/, '') : present
}

/**
 * Stop words: words found in nearly every text, and words that only frame a request. They are stored without endings.
 */
const SILENT: ReadonlySet<string> = new Set(
  [
    'a about above across after again all almost already also although always am among an and another any anybody anyone anything',
    'are as at be because become been before being below between both but by can could did do does done during each either else',
    'enough ever every everything few for from further get gets getting give given got had has have he help her his how however i',
    'if in instead into is it its itself just keep let like lot make many may maybe me might mine more most much must my myself',
    'need never no nobody none nor not nothing now of often on once only or other others our ours out over own per please quite',
    'really same shall she should since so some someone something somewhere soon still such take than that the their theirs them',
    'then there these they this though through thus to too toward under until up upon us use used using very via want was we well',
    'were what whatever when whenever where whether which while who whole whose why will with within without would yet you your',
    'yours',
  ].flatMap((line) => termsIn(line)),
)
