import type { Catalog } from './catalog.ts'
import { comparePaths } from './digest.ts'
import { withHiddenEscaped, withoutHidden } from './hidden-unicode.ts'
import { isForModels } from './model-invocation.ts'
import { baseName } from './paths.ts'
import { uriOf } from './skill-uri.ts'
import type { Skill } from './skill.ts'
import type { SourceId } from './source-id.ts'

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
  /** Those that the id can mean: none, the one, or all of the list that share it. */
  find(id: string): readonly Offered[]
}

/** What the tools of a catalog offer; made once for each. */
export function offeredIn(catalog: Catalog): OfferedSkills {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const offered = new ByIds(unnamedIn(catalog))
  KNOWN.set(catalog, offered)
  return offered
}

const KNOWN = new WeakMap<Catalog, OfferedSkills>()

/**
 * An id is the name of the skill's folder where it is the only one, else `<source>/<folder>`, else `<source>/<path>`. The last
 * leads to the skill in any case, so no shorter one may read like it. What is in no list takes no id from what is. What people do
 * not see of a path is an escape in its ids, so that none of them looks like another.
 */
class ByIds implements OfferedSkills {
  readonly listed: readonly Offered[]
  readonly forModels: readonly Offered[]
  readonly #byPath: ReadonlyMap<string, Offered>
  readonly #listed: ReadonlyMap<string, readonly Offered[]>
  readonly #unlisted: ReadonlyMap<string, readonly Offered[]>

  constructor(all: readonly Unnamed[]) {
    const named = withIds(all)
    const listed = named.filter(isListed)
    this.listed = listed.toSorted((a, b) => comparePaths(a.id, b.id))
    this.forModels = this.listed.filter(({ skill }) => isForModels(skill))
    this.#byPath = new Map(named.map((offered) => [pathIdOf(offered), offered]))
    this.#listed = byShortIds(listed)
    this.#unlisted = byShortIds(named.filter((offered) => !isListed(offered)))
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

type Unnamed = Omit<Offered, 'id'>

function unnamedIn({ snapshots, sources, skills: served }: Catalog): Unnamed[] {
  const disabled = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  return snapshots.flatMap(({ source, skills }) =>
    skills.flatMap((skill) => {
      const { path, standing, digest, servedPath } = skill
      if (standing === 'withheld' || digest === undefined || disabled.get(source)?.has(path) === true) return []
      const uri = servedPath === undefined ? undefined : uriOf(source, `${servedPath}/SKILL.md`)
      const isServed = uri !== undefined && served.get(uri)?.skill === skill
      return [{ source, skill, ...saidOf(source, skill), uri: isServed ? uri : undefined }]
    }),
  )
}

function saidOf(source: SourceId, skill: Skill): Pick<Offered, 'name' | 'description'> {
  // Others, of links or files, may stand before it.
  const finding = skill.findings.find(({ rule }) => rule === 'frontmatter-invalid') ?? skill.findings[0]
  const { name = folderNameOf({ source, skill }), description = `It has no description: ${finding?.message}` } = skill
  return { name: withoutHidden(name), description: withoutHidden(description) }
}

function withIds(all: readonly Unnamed[]): Offered[] {
  const byShortId = byShortIds(all.filter(isListed))
  const paths = new Set(all.map(pathIdOf))
  return all.map((unnamed) => {
    const own = pathIdOf(unnamed)
    const isFree = (id: string): boolean => byShortId.get(id)?.length === 1 && (id === own || !paths.has(id))
    const short = isListed(unnamed) ? shortIdsOf(unnamed).find(isFree) : undefined
    return { id: short ?? own, ...unnamed }
  })
}

function isListed({ skill }: Pick<Offered, 'skill'>): boolean {
  return skill.standing !== 'unlisted'
}

type Placed = Pick<Offered, 'source' | 'skill'>

function byShortIds<One extends Placed>(all: readonly One[]): ReadonlyMap<string, readonly One[]> {
  const groups = new Map<string, One[]>()
  for (const one of all) {
    for (const id of shortIdsOf(one)) {
      const group = groups.get(id)
      if (group === undefined) groups.set(id, [one])
      else group.push(one)
    }
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
