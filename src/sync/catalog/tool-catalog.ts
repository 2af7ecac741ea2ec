import type { Catalog } from './catalog.ts'
import { comparePaths } from '../model/digest.ts'
import { withHiddenEscaped, withoutHidden } from '../skill-md/hidden-unicode.ts'
import { MadeInSteps } from '../../base/incremental.ts'
import { isForModels } from './model-invocation.ts'
import { baseName } from '../../base/paths.ts'
import { uriOf } from '../model/skill-uri.ts'
import { contentKeyOf, isInLists } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import { sorting } from '../../base/cooperative.ts'
import type { Steps } from '../../base/cooperative.ts'
import type { SourceId } from '../model/source-id.ts'

/** A skill as tools offer it. */
export interface Offered {
  /** What it is called by. Of one that is in no list, always the longest form. */
  readonly id: string
  readonly source: SourceId
  readonly skill: Skill
  /** As the frontmatter has it, without what people do not see; the name of its folder where that gives none. */
  readonly name: string
  /** As the frontmatter has it, without what people do not see; what is wrong with the skill where that gives none. */
  readonly description: string
  /** Of its SKILL.md; undefined where no URI can hold its name. */
  readonly uri: string | undefined
}

/** The skills that tools offer: those that are served, and those whose name or frontmatter fits no URI. */
export interface OfferedSkills {
  /** Ordered by id. No two have the same, and each is found by its own. */
  readonly listed: readonly Offered[]
  /** Those of them that models are told of without having asked for one by its id. */
  readonly forModels: readonly Offered[]
  /** Each content of a name once: the first in the order of the sources and their paths. */
  readonly once: readonly Offered[]
  /** The entries of `once` that are for models. */
  readonly distinct: readonly Offered[]
  /** All places of what is named once, in that order, itself the first of them: for models, or for people alone, as it is. */
  placesOf(offered: Offered): readonly Offered[]
  /** Those that the id can mean: none, the one, or all of the list that share it. */
  find(id: string): readonly Offered[]
}

/** What the tools of a catalog offer; made once for each. */
export function offeredIn(catalog: Catalog): OfferedSkills {
  return OFFERED.of(catalog)
}

/** The same, made as a part of a larger work. */
export function offeringSteps(catalog: Catalog): Steps<OfferedSkills> {
  return OFFERED.steps(catalog)
}

/** Makes that in slices: of ten thousand skills it takes longer than others should wait. */
export async function offeringIn(catalog: Catalog): Promise<OfferedSkills> {
  return OFFERED.ready(catalog)
}

const OFFERED = new MadeInSteps<Catalog, OfferedSkills>(offering)

/**
 * An id is the name of the skill's folder where it is the only one, else `<source>/<folder>`, else `<source>/<path>`. The last
 * leads to the skill in any case, so no shorter one may read like it. What is in no list takes no id from what is. What people do
 * not see of a path is an escape in its ids, so that none of them looks like another.
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
    // To name several of these would be to list them.
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

/** The skills of the list by name and content. */
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

/** The key under which copies are one. Copies for models and copies for people alone are apart: a model gets no place of the latter. */
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
  // Others, of links or files, may stand before it.
  const finding = skill.findings.find(({ rule }) => rule === 'frontmatter-invalid') ?? skill.findings[0]
  const { name = folderNameOf({ source, skill }), description = `It has no description: ${finding?.message}` } = skill
  return { name: withoutHidden(name), description: withoutHidden(description) }
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

/** The first has no slash, and the others have one at least. */
function shortIdsOf(placed: Placed): string[] {
  const name = withHiddenEscaped(folderNameOf(placed))
  return [name, `${placed.source}/${name}`]
}

export function pathIdOf({ source, skill }: Placed): string {
  return `${source}/${withHiddenEscaped(skill.path)}`
}

/** The folder that the root of a source is has no name of its own. */
function folderNameOf({ source, skill: { path, name } }: Placed): string {
  if (path !== '') return baseName(path)
  return name === undefined || name === '' || name.includes('/') ? source : name
}
