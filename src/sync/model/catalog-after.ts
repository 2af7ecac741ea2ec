import { buildingCatalog, CatalogBuilder, headOf, type Indexed } from './catalog.ts'
import type { CatalogSkill, FolderChild } from './catalog-entry.ts'
import { CatalogFiles } from './catalog-files.ts'
import type { Catalog } from './catalog.ts'
import { NONE_DISABLED, type Disabled } from './disabled.ts'
import type { Generation } from './generation.ts'
import { foldersAbove } from './paths.ts'
import { renamedFolders } from './placement.ts'
import { folderUrisAbove, uriOf } from './skill-uri.ts'
import type { Skill } from './skill.ts'
import { atOnce, type Steps } from './slices.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * What `buildCatalog` builds, from the catalog before it: where a few skills have other content and all else is as it was, only
 * these are entered anew. A skill is as it was where it is the same object.
 */
export function* catalogAfter(
  before: Catalog,
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Steps<Catalog> {
  const head = headOf(generation, disabled)
  const replaced = isSameChoice(before, head) ? replacedIn(before, snapshots) : undefined
  if (replaced === undefined) return yield* buildingCatalog(generation, snapshots, disabled)
  return { ...head, snapshots, ...withReplaced(before, replaced) }
}

/** One skill that has other content than before, at the place that it had. */
interface Replaced {
  readonly snapshot: Snapshot
  /** The folders of the whole snapshot that are. */
  readonly renamed: ReadonlyMap<string, string>
  readonly was: CatalogSkill
  readonly skill: Skill
}

function isSameChoice(before: Catalog, { sources }: Pick<Catalog, 'sources'>): boolean {
  return JSON.stringify(before.sources) === JSON.stringify(sources)
}

/** Undefined where more is another than the content of a few skills that stand by themselves. */
function replacedIn(before: Catalog, snapshots: readonly Snapshot[]): readonly Replaced[] | undefined {
  const all: Replaced[] = []
  for (const [index, snapshot] of snapshots.entries()) {
    const earlier = before.snapshots[index]
    if (earlier === snapshot) continue
    const replaced = earlier && replacedBetween(before, earlier, snapshot)
    if (replaced === undefined || areNested(replaced, snapshot.skills)) return undefined
    all.push(...replaced)
  }
  return before.snapshots.length === snapshots.length ? all : undefined
}

function replacedBetween(before: Catalog, earlier: Snapshot, snapshot: Snapshot): readonly Replaced[] | undefined {
  const { source, skills, proof } = snapshot
  if (earlier.source !== source || earlier.skills.length !== skills.length) return undefined
  if (JSON.stringify(earlier.proof.signers) !== JSON.stringify(proof.signers)) return undefined
  const renamed = renamedFolders(skills)
  const replaced: Replaced[] = []
  for (const [index, skill] of skills.entries()) {
    const old = earlier.skills[index]
    if (old === skill) continue
    const was =
      old && isAtItsPlace(old, skill) ? before.skills.get(uriOf(source, `${skill.servedPath}/SKILL.md`)) : undefined
    if (was === undefined || was.skill !== old || replaced.length === MOST_REPLACED) return undefined
    replaced.push({ snapshot, renamed, was, skill })
  }
  return replaced
}

/** From there on it is hardly less to build all of it. */
const MOST_REPLACED = 256

function isAtItsPlace(old: Skill, skill: Skill): boolean {
  const areServed = old.standing === 'served' && skill.standing === 'served' && hasAll(skill)
  return areServed && old.path === skill.path && old.servedPath === skill.servedPath
}

/** What every skill that is served has, by its standing; only its type does not say so. */
function hasAll({ name, description, frontmatter, digest }: Skill): boolean {
  return [name, description, frontmatter, digest].every((value) => value !== undefined)
}

/** Whether one of them lies in another skill, or has another in it: such skills have files in common. */
function areNested(replaced: readonly Replaced[], skills: readonly Skill[]): boolean {
  if (replaced.length === 0) return false
  const paths = new Set(skills.map(({ path }) => path))
  const moved = new Set(replaced.map(({ skill }) => skill.path))
  const isInside = ({ path }: Skill): boolean => [...foldersAbove(path)].some((above) => moved.has(above))
  return (
    replaced.some(({ skill }) => [...foldersAbove(skill.path)].some((above) => paths.has(above))) ||
    skills.some(isInside)
  )
}

function withReplaced(before: Catalog, replaced: readonly Replaced[]): Indexed {
  const skills = new Map(before.skills)
  const folders = new Map(before.folders)
  for (const { snapshot, renamed, was, skill } of replaced) {
    takeOut(was, folders)
    const builder = new CatalogBuilder()
    atOnce(builder.adding({ ...snapshot, skills: [skill] }, undefined, renamed))
    putIn(atOnce(builder.building()), was.root, { skills, folders })
  }
  const listed = before.listed.map((skill) => skills.get(skill.uri) ?? skill)
  return { skills, listed, files: new CatalogFiles(folders), folders, withheld: before.withheld }
}

function takeOut({ root, files }: CatalogSkill, folders: Map<string, readonly FolderChild[]>): void {
  for (const inside of new Set(files.map(({ folder }) => folder))) {
    for (const at of [inside, ...folderUrisAbove(inside)]) {
      // Those above it went with one that was taken out before.
      if (!folders.delete(at) || at === root) break
    }
  }
}

/** What is above the skill's own folder shows it already. */
function putIn(
  one: Indexed,
  root: string,
  all: {
    readonly skills: Map<string, CatalogSkill>
    readonly folders: Map<string, readonly FolderChild[]>
  },
): void {
  for (const [uri, skill] of one.skills) all.skills.set(uri, skill)
  for (const [uri, children] of one.folders) {
    if (uri === root || uri.startsWith(`${root}/`)) all.folders.set(uri, children)
  }
}
