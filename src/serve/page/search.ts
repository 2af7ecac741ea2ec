import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Offered } from '../../sync/catalog/tool-catalog.ts'
import { comparePaths } from '../../sync/model/digest.ts'
import { placesIn } from './skill-copies.ts'
import type { SkillCopies } from './skill-copies.ts'
import { tagsIn } from './tags.ts'

/** A search in the form of the page's query string. */
export interface Query {
  readonly text: string
  /** The id of a source; empty for all. */
  readonly source: string
  /** The id of a pack; empty for all. */
  readonly pack: string
  /** A tag in lower case; empty for all skills. */
  readonly tag: string
  readonly sort: Sort
  /** The number of the page, from 1. */
  readonly page: number
}

/** `match`: the best match first, without words by name. */
export type Sort = 'match' | 'name' | 'uses' | 'changed'

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

/** The facts that a search of the page depends on, besides the catalog. */
export interface SearchGround {
  /** The matches of the search of clients, best first; `undefined` if it has no result now. */
  readonly hits: readonly Offered[] | undefined
  /** Returns the time of the last change of a skill, in milliseconds; 0 if it is not known. */
  readonly changedMs: (skill: CatalogSkill) => number
  /** Returns the number of uses of a skill at all of its places; 0 if they are not known. */
  readonly usesOf: (skill: CatalogSkill) => number
  /** True for a skill of the chosen pack. */
  readonly isInPack: (skill: CatalogSkill) => boolean
}

export function queryOf(params: URLSearchParams): Query {
  const page = Number(/^\d{1,6}$/.exec(params.get('page') ?? '')?.[0] ?? 1)
  const sort = params.get('sort')
  return {
    text: (params.get('q') ?? '').slice(0, MOST_CHARACTERS),
    source: params.get('source') ?? '',
    pack: params.get('pack') ?? '',
    tag: (params.get('tag') ?? '').trim().toLowerCase(),
    sort: sort === 'name' || sort === 'uses' || sort === 'changed' ? sort : 'match',
    page,
  }
}

/**
 * Returns the listed skills that the search of clients finds, and after them those that contain every word, each once
 * even if it has several places.
 */
export function searchPage(catalog: Catalog, query: Query, ground: SearchGround): SearchPage {
  const words = query.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS)
  const isOfSource = ({ source }: CatalogSkill): boolean => query.source === '' || source === query.source
  const isTagged = (skill: CatalogSkill): boolean => query.tag === '' || tagsIn(catalog).has(skill, query.tag)
  const admitted = entriesOf(catalog).filter(
    ({ skill }) => isOfSource(skill) && isTagged(skill) && ground.isInPack(skill),
  )
  const isLiteral = ({ text }: Entry): boolean => words.every((word) => text.includes(word))
  const literal = admitted.filter(isLiteral)
  const found =
    words.length === 0 ? [] : hitsAmong({ entries: admitted, places: placesIn(catalog), isLiteral }, ground.hits ?? [])
  const matching = [...new Set([...found, ...(words.length === 0 ? literal : inRank(literal, words))])]
  const ranked = sorted(onceEach(matching, catalog), query.sort, ground)
  const pages = Math.max(1, Math.ceil(ranked.length / PAGE_SKILLS))
  const shown = Math.min(Math.max(1, query.page), pages)
  const skills = ranked.slice((shown - 1) * PAGE_SKILLS, shown * PAGE_SKILLS).map(({ skill }) => skill)
  return { skills, total: ranked.length, places: matching.length, page: shown, pages }
}

interface HitGround {
  readonly entries: readonly Entry[]
  readonly places: SkillCopies
  readonly isLiteral: (entry: Entry) => boolean
}

/** The places of the hits, in the order of the hits: those with every word in their own text, or else all. */
function hitsAmong({ entries, places, isLiteral }: HitGround, hits: readonly Offered[]): readonly Entry[] {
  if (hits.length === 0) return []
  const entryOf = new Map(entries.map((entry) => [entry.skill, entry]))
  return hits.flatMap((hit) => {
    const all = places.of(hit).flatMap((place) => entryOf.get(place) ?? [])
    const literal = all.filter(isLiteral)
    return literal.length > 0 ? literal : all
  })
}

function sorted(entries: readonly Entry[], sort: Sort, { changedMs, usesOf }: SearchGround): readonly Entry[] {
  if (sort === 'match') return entries
  if (sort === 'name') return entries.toSorted((a, b) => comparePaths(a.name, b.name))
  const measure = sort === 'uses' ? usesOf : changedMs
  return entries
    .map((entry) => ({ entry, value: measure(entry.skill) }))
    .toSorted((a, b) => b.value - a.value)
    .map(({ entry }) => entry)
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

/** By name, and those of one name in the order of the catalog. */
function entriesOf(catalog: Catalog): readonly Entry[] {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const all = catalog.listed.map((skill) => {
    const name = skill.name.toLowerCase()
    return { skill, name, text: `${name}\n${skill.skill.path.toLowerCase()}\n${skill.description.toLowerCase()}` }
  })
  const entries = all.toSorted((a, b) => comparePaths(a.name, b.name))
  KNOWN.set(catalog, entries)
  return entries
}

const KNOWN = new WeakMap<Catalog, readonly Entry[]>()

/** Sorts by rank, and by name within a rank. Each entry is ranked only once. */
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
