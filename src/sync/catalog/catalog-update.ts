import type { Steps } from '../../base/async/cooperative.ts'
import { NONE_DISABLED, type Disabled } from '../model/decisions/out-of-service.ts'
import type { Generation } from '../model/generation.ts'
import { renamedFolders } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { uriOf } from '../model/uris/skill-uri.ts'
import type { CatalogSkill } from './catalog-file.ts'
import { CatalogFiles } from './catalog-files.ts'
import { buildingCatalog, catalogEntryOf, headOf, splitListed } from './catalog.ts'
import type { Catalog, Indexed } from './catalog.ts'

/**
 * Builds the result of `buildCatalog` from the previous catalog. If only the content of a few skills changed, only
 * their entries are made again. A skill is unchanged if it is the same object.
 */
export function* catalogAfter(
  before: Catalog,
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Steps<Catalog> {
  const head = headOf(generation, snapshots, disabled)
  const replaced = isSameChoice(before, head) ? replacedIn(before, snapshots) : undefined
  if (replaced === undefined) return yield* buildingCatalog(generation, snapshots, disabled)
  return { ...head, snapshots, ...withReplaced(before, replaced) }
}

function isSameChoice(before: Catalog, { sources }: Pick<Catalog, 'sources'>): boolean {
  return JSON.stringify(before.sources) === JSON.stringify(sources)
}

/** The entries to replace. `undefined` if more changed than the content of a few skills that stand alone. */
function replacedIn(before: Catalog, snapshots: readonly Snapshot[]): readonly CatalogSkill[] | undefined {
  const all: CatalogSkill[] = []
  for (const [index, snapshot] of snapshots.entries()) {
    const earlier = before.snapshots[index]
    if (earlier === snapshot) continue
    const replaced = earlier && replacedBetween(before, earlier, snapshot)
    if (replaced === undefined) return undefined
    all.push(...replaced)
  }
  return before.snapshots.length === snapshots.length ? all : undefined
}

function replacedBetween(before: Catalog, earlier: Snapshot, snapshot: Snapshot): readonly CatalogSkill[] | undefined {
  const { source, skills, proof } = snapshot
  if (earlier.source !== source || earlier.skills.length !== skills.length) return undefined
  if (JSON.stringify(earlier.proof.signers) !== JSON.stringify(proof.signers)) return undefined
  const renamed = renamedFolders(skills)
  const replaced: CatalogSkill[] = []
  for (const [index, skill] of skills.entries()) {
    const old = earlier.skills[index]
    if (old === skill) continue
    const was =
      old && isAtItsPlace(old, skill) ? before.skills.get(uriOf(source, `${skill.servedPath}/SKILL.md`)) : undefined
    // The other skills have not moved: a skill that stood alone still does.
    const is =
      was?.isAlone === true && was.skill === old
        ? catalogEntryOf(skill, { snapshot, renamed, isAlone: true })
        : undefined
    if (is === undefined || replaced.length === MOST_REPLACED) return undefined
    replaced.push(is)
  }
  return replaced
}

/** Above this number, a full build takes hardly longer. */
const MOST_REPLACED = 256

function isAtItsPlace(old: Skill, skill: Skill): boolean {
  const areServed = old.standing === 'served' && skill.standing === 'served'
  return areServed && old.path === skill.path && old.servedPath === skill.servedPath
}

function withReplaced(before: Catalog, replaced: readonly CatalogSkill[]): Indexed {
  const skills = new Map(before.skills)
  for (const skill of replaced) skills.set(skill.uri, skill)
  const listed = before.listed.map((skill) => skills.get(skill.uri) ?? skill)
  const folders = before.folders.with(skills)
  return {
    skills,
    listed,
    ...splitListed(listed),
    files: new CatalogFiles(folders, skills),
    folders,
    withheld: before.withheld,
  }
}
