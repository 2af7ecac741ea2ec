import MiniSearch from 'minisearch'
import type { Query, QueryCombination } from 'minisearch'
import { comparePaths } from '../../sync/model/digest.ts'
import { atOnce } from '../../base/cooperative.ts'
import type { Steps } from '../../base/cooperative.ts'
import { FIELDS } from './searchable.ts'
import type { Searchable } from './searchable.ts'
import { termsAsked, termsIn } from './tokenize.ts'

/**
 * Finds skills by words. What it answers depends on the skills that are in it and on nothing else: not on those that were, nor
 * on the order in which they came.
 */
export class SkillIndex {
  readonly #index = new MiniSearch<Searchable>(OPTIONS)
  readonly #held = new Map<string, Held>()

  static of(texts: Iterable<Searchable>): SkillIndex {
    const index = new SkillIndex()
    for (const text of texts) index.set(text)
    return index
  }

  /** How many skills are in it. */
  get size(): number {
    return this.#held.size
  }

  /** Puts a skill in, in place of the one that had its id. */
  set(text: Searchable): void {
    this.delete(text.id)
    this.#held.set(text.id, { text, names: [text.name, text.id].map(calledOf) })
    this.#index.add(text)
  }

  delete(id: string): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    // `discard` would leave its words behind until later, and they would count.
    this.#index.remove(held.text)
    this.#held.delete(id)
  }

  /** The ids of the skills that answer best, the best first: so many at the most. */
  find(query: string, limit: number): string[] {
    return atOnce(this.finding(query, limit))
  }

  /** The same in steps, each of which takes as long as a search for a few words. The index stays as it is meanwhile. */
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
      score: rounded(score * those.size),
      // Who asks by the whole name of a skill means that one.
      isCalledSo: this.#held.get(id)?.names.includes(asked) === true,
    }))
      .toSorted((a, b) => Number(b.isCalledSo) - Number(a.isCalledSo) || b.score - a.score || comparePaths(a.id, b.id))
      .slice(0, limit)
      .map(({ id }) => id)
  }

  /** Adds the hits of some terms to the sums. MiniSearch gives the sum of the terms by as many as were found. */
  #add(terms: readonly string[], found: Map<string, Sum>): void {
    const queries = terms.flatMap((term) => this.#meantBy(term))
    for (const { id, score, queryTerms } of this.#index.search({ combineWith: 'OR', queries })) {
      const sum = found.get(String(id)) ?? { score: 0, asked: new Set() }
      sum.score += score / Math.max(1, queryTerms.length)
      for (const term of queryTerms) sum.asked.add(term)
      found.set(String(id), sum)
    }
  }

  /** A word that skills have is no typing error: what is only near to it would bring in others. */
  #meantBy(term: string): Query[] {
    const those = this.#index.search(asWritten([term]))
    return those.length < KNOWN_SKILLS ? [term, swapped(term)] : [{ combineWith: 'OR', queries: [term], fuzzy: false }]
  }
}

interface Held {
  /** What is taken out has to be said again. */
  readonly text: Searchable
  readonly names: readonly string[]
}

/** The score of a skill by the terms that were searched so far. */
interface Sum {
  score: number
  /** Those of the query that it has, as they are asked for. */
  readonly asked: Set<string>
}

/** Most searches have no more. */
const STEP_TERMS = 4

/** Equal for names of the same words in the same order. */
function calledOf(name: string): string {
  return termsIn(name).join(' ')
}

/** Two letters in the wrong order are two mistakes to whoever counts them, and one to whoever types them. */
function swapped(term: string): Query {
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
function rounded(score: number): number {
  return Number(score.toPrecision(9))
}

/** A word that a single one has may be mistyped there. */
const KNOWN_SKILLS = 2

/** What a word counts by where it stands. An id mostly says the name again. */
const BOOST = { id: 0.5, name: 1.5, tags: 1.5, whenToUse: 1.5, description: 1.5, headings: 1 }

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
    weights: { prefix: 0.3, fuzzy: 0.3 },
  },
  // What is taken out is what was put in: there is nothing to tell.
  logger: () => {},
  autoVacuum: false,
}
