import { sorting } from '../../base/async/cooperative.ts'
import type { Steps } from '../../base/async/cooperative.ts'
import { IncrementalCache } from '../../base/async/incremental.ts'
import { baseName } from '../../base/paths.ts'
import { comparePaths } from '../model/digest.ts'
import { contentKeyOf, isInLists } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import type { SourceId } from '../model/source-id.ts'
import { uriOf } from '../model/uris/skill-uri.ts'
import { withHiddenEscaped, withoutHidden } from '../skill/hidden-unicode.ts'
import { lifecycleOf, listedDescription } from '../skill/lifecycle.ts'
import type { Catalog } from './catalog.ts'
import { isForModels } from './model-invocation.ts'

/** A skill as tools offer it. */
export interface Offered {
  /** The id for calls. For a skill in no list, always the longest form. */
  readonly id: string
  readonly source: SourceId
  readonly skill: Skill
  /** The name in the frontmatter without invisible characters; the name of the folder if there is none. */
  readonly name: string
  /**
   * The description in the frontmatter without invisible characters, after the deprecation if the skill declares one;
   * the fault of the skill if there is no description.
   */
  readonly description: string
  /** The URI of its SKILL.md; `undefined` if it has none. */
  readonly uri: string | undefined
}

/** The skills that tools offer: the served ones, and those that have no URI. */
export interface OfferedSkills {
  /** Ordered by id. Ids are unique, and each leads to its skill. */
  readonly listed: readonly Offered[]
  /** The listed skills that models see without a request by id. */
  readonly forModels: readonly Offered[]
  /** Each name with its content once: the first in the order of the sources and their paths. */
  readonly once: readonly Offered[]
  /** The entries of `once` that are for models. */
  readonly distinct: readonly Offered[]
  /**
   * All places of an entry of `once`, in that order, with the entry first. All are for models, or all for people only,
   * like the entry.
   */
  placesOf(offered: Offered): readonly Offered[]
  /** The skills that the id can mean: none, one, or all listed ones that share it. */
  find(id: string): readonly Offered[]
}

/** The offer of a catalog's tools, cached by catalog. */
export function offeredIn(catalog: Catalog): OfferedSkills {
  return OFFERED.of(catalog)
}

/** Makes the offer as a part of larger work. */
export function offeringSteps(catalog: Catalog): Steps<OfferedSkills> {
  return OFFERED.steps(catalog)
}

/** Makes the offer in slices: for ten thousand skills it takes longer than other work should wait. */
export async function offeringIn(catalog: Catalog): Promise<OfferedSkills> {
  return OFFERED.ready(catalog)
}

const OFFERED = new IncrementalCache<Catalog, OfferedSkills>(offering)

/**
 * An id is the name of the skill's folder if that is unique, else `<source>/<folder>`, else `<source>/<path>`. The last
 * form always leads to the skill, so no shorter id may equal it. Unlisted skills take no id from listed ones. Invisible
 * characters of a path are escaped in its ids, so that no two ids look alike.
 */
class ByIds implements OfferedSkills {
  readonly listed: readonly Offered[]
  readonly forModels: readonly Offered[]
  readonly once: readonly Offered[]
  readonly distinct: readonly Offered[]
  readonly #places: ReadonlyMap<string, readonly Offered[]>
  readonly #byPath: ReadonlyMap<string, Offered>
  readonly #listed: ByShortId<Offered>
  readonly #unlisted: ByShortId<Offered>

  constructor({ listed, forModels, places, byPath, byShortId, unlistedByShortId }: Indexes) {
    this.listed = listed
    this.forModels = forModels
    const firsts = new Set([...places.values()].map(([first]) => first))
    this.once = listed.filter((offered) => firsts.has(offered))
    this.distinct = this.once.filter(({ skill }) => isForModels(skill))
    this.#places = places
    this.#byPath = byPath
    this.#listed = byShortId
    this.#unlisted = unlistedByShortId
  }

  placesOf(offered: Offered): readonly Offered[] {
    return this.#places.get(placesKeyOf(offered)) ?? [offered]
  }

  find(id: string): readonly Offered[] {
    const exact = this.#byPath.get(id)
    if (exact !== undefined) return [exact]
    const listed = this.#listed.get(id)
    if (listed !== undefined) return listed
    // A result with several of these would list them.
    const unlisted = this.#unlisted.get(id) ?? []
    return unlisted.length === 1 ? unlisted : []
  }
}

interface Indexes {
  readonly listed: readonly Offered[]
  readonly forModels: readonly Offered[]
  readonly places: ReadonlyMap<string, readonly Offered[]>
  readonly byPath: ReadonlyMap<string, Offered>
  readonly byShortId: ByShortId<Offered>
  readonly unlistedByShortId: ByShortId<Offered>
}

function* offering(catalog: Catalog): Steps<OfferedSkills> {
  const named = yield* naming(yield* unnaming(catalog))
  const byPath = new Map<string, Offered>()
  for (const offered of named) {
    byPath.set(pathIdOf(offered), offered)
    yield
  }
  const all = named.filter(isListed)
  const byShortId = yield* grouping(all)
  const unlistedByShortId = yield* grouping(named.filter((offered) => !isListed(offered)))
  const listed = yield* sorting(all, (a, b) => comparePaths(a.id, b.id))
  const forModels = listed.filter(({ skill }) => isForModels(skill))
  const places = yield* placing(all)
  return new ByIds({ listed, forModels, places, byPath, byShortId, unlistedByShortId })
}

/** The listed skills by name and content. */
function* placing(all: readonly Offered[]): Steps<ReadonlyMap<string, readonly Offered[]>> {
  const places = new Map<string, Offered[]>()
  for (const offered of all) {
    const key = placesKeyOf(offered)
    const same = places.get(key)
    if (same === undefined) places.set(key, [offered])
    else same.push(offered)
    yield
  }
  return places
}

/**
 * The key that copies share. Copies for models and copies for people only have different keys: a model sees no place of
 * the latter.
 */
function placesKeyOf({ skill }: Offered): string {
  return `${isForModels(skill)} ${contentKeyOf(skill)}`
}

type Unnamed = Omit<Offered, 'id'>

function* unnaming({ snapshots, sources, skills: served }: Catalog): Steps<readonly Unnamed[]> {
  const disabled = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  const all: Unnamed[] = []
  for (const { source, skills } of snapshots) {
    for (const skill of skills) {
      if (isOffered(skill) && disabled.get(source)?.has(skill.path) !== true)
        all.push({ source, skill, ...saidOf(source, skill), uri: uriAmong(served, source, skill) })
      yield
    }
  }
  return all
}

function isOffered({ standing, digest }: Skill): boolean {
  return standing !== 'withheld' && digest !== undefined
}

function uriAmong(served: Catalog['skills'], source: SourceId, skill: Skill): string | undefined {
  if (skill.servedPath === undefined) return undefined
  const uri = uriOf(source, `${skill.servedPath}/SKILL.md`)
  return served.get(uri)?.skill === skill ? uri : undefined
}

function saidOf(source: SourceId, skill: Skill): Pick<Offered, 'name' | 'description'> {
  // Other findings, of links or files, may come before it.
  const finding = skill.findings.find(({ rule }) => rule === 'frontmatter-invalid') ?? skill.findings[0]
  const { name = folderNameOf({ source, skill }), description = `It has no description: ${finding?.message}` } = skill
  const listed = listedDescription(withoutHidden(description), lifecycleOf(skill))
  return { name: withoutHidden(name), description: listed }
}

function* naming(all: readonly Unnamed[]): Steps<readonly Offered[]> {
  const byShortId = yield* grouping(all.filter(isListed))
  const paths = new Set(all.map(pathIdOf))
  yield
  const named: Offered[] = []
  for (const unnamed of all) {
    const own = pathIdOf(unnamed)
    const isFree = (id: string): boolean => byShortId.get(id)?.length === 1 && (id === own || !paths.has(id))
    const short = isListed(unnamed) ? shortIdsOf(unnamed).find(isFree) : undefined
    named.push({ id: short ?? own, ...unnamed })
    yield
  }
  return named
}

function isListed({ skill }: Pick<Offered, 'skill'>): boolean {
  return isInLists(skill)
}

type Placed = Pick<Offered, 'source' | 'skill'>

type ByShortId<One> = ReadonlyMap<string, readonly One[]>

function* grouping<One extends Placed>(all: readonly One[]): Steps<ByShortId<One>> {
  const groups = new Map<string, One[]>()
  for (const one of all) {
    for (const id of shortIdsOf(one)) {
      const group = groups.get(id)
      if (group === undefined) groups.set(id, [one])
      else group.push(one)
    }
    yield
  }
  return groups
}

/** The first has no slash, and the other has at least one. */
function shortIdsOf(placed: Placed): string[] {
  const name = withHiddenEscaped(folderNameOf(placed))
  return [name, `${placed.source}/${name}`]
}

export function pathIdOf({ source, skill }: Placed): string {
  return `${source}/${withHiddenEscaped(skill.path)}`
}

/** The root folder of a source has no name of its own. */
function folderNameOf({ source, skill: { path, name } }: Placed): string {
  if (path !== '') return baseName(path)
  return name === undefined || name === '' || name.includes('/') ? source : name
}
