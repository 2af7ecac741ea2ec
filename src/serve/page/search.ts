import type { CatalogSkill } from '../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { placesIn } from './skill-copies.ts'

/** A search in the form of the page's query string. */
export interface Query {
  readonly text: string
  /** The id of a source; empty for all. */
  readonly source: string
  /** The number of the page, from 1. */
  readonly page: number
}

/** One page of search results. */
export interface SearchPage {
  /** The found skills, each at the first of its matching places. */
  readonly skills: readonly CatalogSkill[]
  readonly total: number
  /** The number of matching places of all skills. */
  readonly places: number
  readonly page: number
  readonly pages: number
}

export function queryOf(params: URLSearchParams): Query {
  const page = Number(/^\d{1,6}$/.exec(params.get('page') ?? '')?.[0] ?? 1)
  return { text: (params.get('q') ?? '').slice(0, MOST_CHARACTERS), source: params.get('source') ?? '', page }
}

/**
 * Returns the listed skills that contain every word, each once even if it has several places. Matches in the name come
 * first.
 */
export function searchPage(catalog: Catalog, { text, source, page }: Query): SearchPage {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS)
  const matching = entriesOf(catalog).filter((entry) => isMatch(entry, words, source))
  const entries = onceEach(matching, catalog)
  const ranked = words.length === 0 ? entries : inRank(entries, words)
  const pages = Math.max(1, Math.ceil(ranked.length / PAGE_SKILLS))
  const shown = Math.min(Math.max(1, page), pages)
  const skills = ranked.slice((shown - 1) * PAGE_SKILLS, shown * PAGE_SKILLS).map(({ skill }) => skill)
  return { skills, total: ranked.length, places: matching.length, page: shown, pages }
}

function onceEach(entries: readonly Entry[], catalog: Catalog): readonly Entry[] {
  const places = placesIn(catalog)
  const met = new Set<readonly CatalogSkill[]>()
  return entries.filter(({ skill }) => {
    const all = places.of(skill)
    const isFirst = !met.has(all)
    met.add(all)
    return isFirst
  })
}

const PAGE_SKILLS = 50
const MOST_CHARACTERS = 200
const MOST_WORDS = 10

interface Entry {
  readonly skill: CatalogSkill
  readonly name: string
  /** The searched text, in lower case. */
  readonly text: string
}

function entriesOf(catalog: Catalog): readonly Entry[] {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const entries = catalog.listed.map((skill) => {
    const name = skill.name.toLowerCase()
    return { skill, name, text: `${name}\n${skill.skill.path.toLowerCase()}\n${skill.description.toLowerCase()}` }
  })
  KNOWN.set(catalog, entries)
  return entries
}

const KNOWN = new WeakMap<Catalog, readonly Entry[]>()

function isMatch({ skill, text }: Entry, words: readonly string[], source: string): boolean {
  return (source === '' || skill.source === source) && words.every((word) => text.includes(word))
}

/** Sorts by rank, and by catalog order within a rank. Each entry is ranked only once. */
function inRank(entries: readonly Entry[], words: readonly string[]): readonly Entry[] {
  const ranks: Entry[][] = [[], [], [], []]
  for (const entry of entries) ranks[rankOf(entry, words)]?.push(entry)
  return ranks.flat()
}

function rankOf({ name }: Entry, words: readonly string[]): number {
  const [first = ''] = words
  if (name === words.join('-') || name === words.join(' ')) return 0
  if (name.startsWith(first)) return 1
  return words.some((word) => name.includes(word)) ? 2 : 3
}
