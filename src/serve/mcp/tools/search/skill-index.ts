import MiniSearch from 'minisearch'
import type { Query, QueryCombination } from 'minisearch'
import { runNow } from '../../../../base/async/cooperative.ts'
import type { Steps } from '../../../../base/async/cooperative.ts'
import { comparePaths } from '../../../../sync/model/digest.ts'
import { MOST_CHARACTERS } from './query.ts'
import { FIELDS } from './searchable.ts'
import type { Searchable } from './searchable.ts'

/**
 * Returns the index terms of a text: lower case, without accents and endings. Text in scripts without spaces becomes
 * pairs of characters.
 */
function termsIn(text: string): string[] {
  const folded = text.normalize('NFKD').replace(MARKS, '').toLowerCase()
  return [...folded.matchAll(WORDS)].flatMap(([word]) => (UNSPACED.test(word) ? pairsIn(word) : [stemOf(word)]))
}

/** Returns the distinct terms of a query without stop words; with them if there are no other terms. */
function termsAsked(text: string): string[] {
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

/**
 * Finds skills by words. Results depend only on the current skills, not on removed ones or on the order of insertion.
 */
export class SkillIndex {
  readonly #index = new MiniSearch<Searchable>(OPTIONS)
  readonly #held = new Map<string, Held>()

  static of(texts: Iterable<Searchable>): SkillIndex {
    const index = new SkillIndex()
    for (const text of texts) index.set(text)
    return index
  }

  /** The number of indexed skills. */
  get size(): number {
    return this.#held.size
  }

  /** Adds a skill, or replaces the skill with the same id. */
  set(text: Searchable): void {
    this.delete(text.id)
    this.#held.set(text.id, { text, names: [text.name, text.id].map(calledOf) })
    this.#index.add(text)
  }

  delete(id: string): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    // `discard` would keep the words of the skill until later, and they would count in the scores.
    this.#index.remove(held.text)
    this.#held.delete(id)
  }

  /** Returns the ids of the best matches, best first; at most `limit`. */
  find(query: string, limit: number): string[] {
    return runNow(this.finding(query, limit))
  }

  /**
   * Works like `find`, in steps that each take as long as a search for a few words. The index must not change in the
   * meantime.
   */
  *finding(query: string, limit: number): Steps<string[]> {
    const terms = termsAsked(query)
    const asked = calledOf(query)
    const found = new Map<string, Sum>()
    for (let at = 0; at < terms.length; at += STEP_TERMS) {
      if (at > 0) yield
      this.#add(terms.slice(at, at + STEP_TERMS), found)
    }
    return Array.from(found, ([id, { score, asked: those }]) => ({
      id,
      score: round(score * those.size),
      // A query that is the whole name of a skill means that skill.
      isCalledSo: this.#held.get(id)?.names.includes(asked) === true,
    }))
      .toSorted((a, b) => Number(b.isCalledSo) - Number(a.isCalledSo) || b.score - a.score || comparePaths(a.id, b.id))
      .slice(0, limit)
      .map(({ id }) => id)
  }

  /**
   * Adds the hits of some terms to the sums. MiniSearch multiplies the sum of the terms by the number of matched terms.
   */
  #add(terms: readonly string[], found: Map<string, Sum>): void {
    const queries = terms.flatMap((term) => this.#meantBy(term))
    for (const { id, score, queryTerms } of this.#index.search({ combineWith: 'OR', queries })) {
      const sum = found.get(String(id)) ?? { score: 0, asked: new Set() }
      sum.score += score / Math.max(1, queryTerms.length)
      for (const term of queryTerms) sum.asked.add(term)
      found.set(String(id), sum)
    }
  }

  /** A word that skills contain is not a typing error: fuzzy matches would add unrelated skills. */
  #meantBy(term: string): Query[] {
    const those = this.#index.search(asWritten([term]))
    return those.length < KNOWN_SKILLS
      ? [term, swapQuery(term)]
      : [{ combineWith: 'OR', queries: [term], fuzzy: false }]
  }
}

interface Held {
  /** The removal from the index needs the text that was added. */
  readonly text: Searchable
  readonly names: readonly string[]
}

/** The score of a skill over the terms searched so far. */
interface Sum {
  score: number
  /** The query terms that the skill matches, as written in the query. */
  readonly asked: Set<string>
}

/** Most queries have no more terms. */
const STEP_TERMS = 4

/** Equal for names of the same words in the same order. */
function calledOf(name: string): string {
  return termsIn(name).join(' ')
}

/** Two swapped letters are two edits in edit distance, but one typing error. */
function swapQuery(term: string): Query {
  const queries = term.length < 4 ? [] : Array.from({ length: term.length - 1 }, (_, at) => swappedAt(term, at))
  return { ...asWritten(queries.filter((one) => one !== term)), boost: SWAPPED }
}

function asWritten(queries: string[]): QueryCombination {
  return { combineWith: 'OR', queries, prefix: false, fuzzy: false }
}

function swappedAt(term: string, at: number): string {
  return `${term.slice(0, at)}${term.charAt(at + 1)}${term.charAt(at)}${term.slice(at + 2)}`
}

/** Sums of the same parts in another order differ in their last digits. */
function round(score: number): number {
  return Number(score.toPrecision(9))
}

/** A word that only one skill contains may be a typing error in that skill. */
const KNOWN_SKILLS = 2

/** The weight of a word by its field. An id mostly repeats the name. */
const BOOST = { id: 0.5, name: 1.5, tags: 1.5, whenToUse: 1.5, description: 1.5, headings: 1 }

const SWAPPED = Object.fromEntries(Object.entries(BOOST).map(([field, boost]) => [field, boost * 0.3]))

const OPTIONS = {
  fields: [...FIELDS],
  // Texts are tokenized when they are added; query terms are already tokenized.
  tokenize: termsIn,
  processTerm: (term: string) => term,
  searchOptions: {
    tokenize: (term: string) => [term],
    boost: BOOST,
    // A shorter term is a prefix of too many words, and close to too many others.
    prefix: (term: string) => term.length > 2,
    fuzzy: (term: string) => (term.length < 4 ? 0 : term.length < 8 ? 1 : 2),
    weights: { prefix: 0.3, fuzzy: 0.3 },
  },
  // A removed text is always the text that was added, so there is nothing to warn about.
  logger: () => {},
  autoVacuum: false,
}
