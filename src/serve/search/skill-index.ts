import MiniSearch from 'minisearch'
import type { Query } from 'minisearch'
import { comparePaths } from '../../sync/model/digest.ts'
import { FIELDS } from './searchable.ts'
import type { Searchable } from './searchable.ts'
import { termsAsked, termsIn } from './terms.ts'

/**
 * Finds skills by words. What it answers depends on the skills that are in it and on nothing else: not on those that were, nor
 * on the order in which they came.
 */
export class SkillIndex {
  readonly #index = new MiniSearch<Searchable>(OPTIONS)
  /** What is taken out has to be said again. */
  readonly #texts = new Map<string, Searchable>()

  static of(texts: Iterable<Searchable>): SkillIndex {
    const index = new SkillIndex()
    for (const text of texts) index.set(text)
    return index
  }

  /** How many skills are in it. */
  get size(): number {
    return this.#texts.size
  }

  /** Puts a skill in, in place of the one that had its id. */
  set(text: Searchable): void {
    this.delete(text.id)
    this.#texts.set(text.id, text)
    this.#index.add(text)
  }

  delete(id: string): void {
    const known = this.#texts.get(id)
    if (known === undefined) return
    // `discard` would leave its words behind until later, and they would count.
    this.#index.remove(known)
    this.#texts.delete(id)
  }

  /** The ids of the skills that answer best, the best first: so many at the most. */
  find(query: string, limit: number): string[] {
    const terms = termsAsked(query)
    if (terms.length === 0) return []
    const asked = JSON.stringify(termsIn(query))
    const found = this.#index.search({ combineWith: 'OR', queries: terms.flatMap((term) => [term, swapped(term)]) })
    return found
      .map(({ id, score }) => ({
        id: String(id),
        score: rounded(score),
        isCalledSo: this.#isCalled(String(id), asked),
      }))
      .toSorted((a, b) => Number(b.isCalledSo) - Number(a.isCalledSo) || b.score - a.score || comparePaths(a.id, b.id))
      .slice(0, limit)
      .map(({ id }) => id)
  }

  /** Who asks by the whole name of a skill means that one. */
  #isCalled(id: string, asked: string): boolean {
    const text = this.#texts.get(id)
    return text !== undefined && [text.name, id].some((name) => JSON.stringify(termsIn(name)) === asked)
  }
}

/** Two letters in the wrong order are two mistakes to whoever counts them, and one to whoever types them. */
function swapped(term: string): Query {
  const queries = term.length < 4 ? [] : Array.from({ length: term.length - 1 }, (_, at) => swappedAt(term, at))
  return {
    combineWith: 'OR',
    queries: queries.filter((one) => one !== term),
    prefix: false,
    fuzzy: false,
    boost: SWAPPED,
  }
}

function swappedAt(term: string, at: number): string {
  return `${term.slice(0, at)}${term.charAt(at + 1)}${term.charAt(at)}${term.slice(at + 2)}`
}

/** Sums of the same parts in another order differ in their last digits. */
function rounded(score: number): number {
  return Number(score.toPrecision(9))
}

/** What a word counts by where it stands. */
const BOOST = { id: 3, name: 4, tags: 2, whenToUse: 1.5, description: 1.5, headings: 0.7 }

const SWAPPED = Object.fromEntries(Object.entries(BOOST).map(([field, boost]) => [field, boost * 0.3]))

const OPTIONS = {
  fields: [...FIELDS],
  // Texts are taken apart as they come; the terms of a query are whole already.
  tokenize: termsIn,
  processTerm: (term: string) => term,
  searchOptions: {
    tokenize: (term: string) => [term],
    boost: BOOST,
    // One that short is the beginning of too many words, and near to too many others.
    prefix: (term: string) => term.length > 2,
    fuzzy: (term: string) => (term.length < 4 ? 0 : term.length < 8 ? 1 : 2),
    weights: { prefix: 0.5, fuzzy: 0.3 },
  },
  // What is taken out is what was put in: there is nothing to tell.
  logger: () => {},
  autoVacuum: false,
}
