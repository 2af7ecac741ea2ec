import { createHash } from 'node:crypto'
import type { CatalogSkill, FolderSkill } from '../../../sync/catalog/catalog-entry.ts'
import { withoutCopies } from '../../../sync/catalog/folder-skills.ts'
import { contentKeyOf } from '../../../sync/model/skill.ts'
import { isSkillName } from '../../../sync/skill-md/skill-name.ts'
import type { Steps } from '../../../base/cooperative.ts'

/** A skill that can be installed. */
export type Installed = CatalogSkill | FolderSkill

/** The names by which skills can be installed. No name leads to two of them. */
export interface InstallNames {
  /** One for each content of a name. */
  readonly listed: ReadonlyMap<string, Installed>
  /** The names that places of the same content had alone: a client that installed one by that name still finds it. */
  readonly besides: ReadonlyMap<string, Installed>
  /** By a listed name, the URIs of all places of its content, in order; none for a name with one place. */
  readonly places: ReadonlyMap<string, readonly string[]>
}

/**
 * Gives each skill the name by which it can be installed: installers know nothing but names. Skills of one name and one content are
 * one. A name that stands for several contents, or that one skill has and another could be given, leads to none; those are called after
 * their source and path instead. So none takes the place of another when a source gains a skill. A skill of the lists keeps its name
 * against the folders of its own source. The order of the skills does not matter.
 */
export function* installNames(
  inLists: readonly CatalogSkill[],
  folderSkills: readonly FolderSkill[] = [],
): Steps<InstallNames> {
  const skills: readonly Installed[] = [...inLists, ...withoutCopies(folderSkills, inLists)]
  const yielding = yieldingAmong(inLists)
  const bearers = yield* bearing(skills.filter((skill) => !yielding(skill)))
  const forms: (Names & { readonly skill: Installed })[] = []
  // How often each stands among all forms of all skills.
  const counts = new Map<string, number>()
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const skill of skills) {
    const names = namesOf(skill)
    forms.push({ skill, ...names })
    const same = bearers.get(names.plain)
    if (!yielding(skill) && (same === undefined || same[0] === skill)) count(names.plain)
    count(names.qualified)
    count(names.marked)
    yield
  }
  const isFree = (name: string): boolean => isSkillName(name) && counts.get(name) === 1
  const [listed, besides] = [new Map<string, Installed>(), new Map<string, Installed>()]
  const places = new Map<string, readonly string[]>()
  for (const { skill, plain, qualified, marked } of forms) {
    const same = bearers.get(plain)
    const alone = isFree(qualified) ? qualified : marked
    if (!isFree(plain) || yielding(skill)) listed.set(alone, skill)
    else if (same === undefined || same[0] === skill) listed.set(plain, skill)
    if (isFree(plain) && !yielding(skill) && same !== undefined) {
      besides.set(alone, skill)
      places.set(
        plain,
        same.flatMap(({ uri }) => uri ?? []),
      )
    }
    yield
  }
  return { listed, besides, places }
}

/** True of a skill that is called after its folder, where one in the lists of its source has that name. */
function yieldingAmong(inLists: readonly CatalogSkill[]): (skill: Installed) => boolean {
  const names = new Set(inLists.map(({ source, name }) => `${source}/${name}`))
  return ({ uri, source, name }) => uri === undefined && names.has(`${source}/${name}`)
}

/** By name the skills that have it, in the order of their places, where there are several and all have the same content. */
function* bearing(skills: readonly Installed[]): Steps<ReadonlyMap<string, readonly Installed[]>> {
  const all = new Map<string, Installed[]>()
  for (const skill of skills) {
    const same = all.get(skill.name)
    if (same === undefined) all.set(skill.name, [skill])
    else same.push(skill)
    yield
  }
  const bearers = new Map<string, readonly Installed[]>()
  for (const [name, same] of all) {
    if (same.length > 1 && new Set(same.map(({ skill }) => contentKeyOf(skill))).size === 1)
      bearers.set(
        name,
        same.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)),
      )
    yield
  }
  return bearers
}

/** The names that a skill can have, the shortest first. */
interface Names {
  readonly plain: string
  readonly qualified: string
  readonly marked: string
}

function namesOf(skill: Installed): Names {
  const path = skill.uri === undefined ? placeOf(skill) : decodeURIComponent(skill.root.slice('skill://'.length))
  const qualified = qualifiedName(path)
  return { plain: skill.name, qualified, marked: markedName(qualified, placeOf(skill)) }
}

/** The URI, or what stands for it where there is none: no URI is written like it. */
function placeOf({ uri, source, skill }: Installed): string {
  return uri ?? `${source}/${skill.path}`
}

/** `team-pdf` for `team/pdf`, with the folders between where there are any. */
function qualifiedName(path: string): string {
  const words = path.toLowerCase()
  return words.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** For what is too long, or a name already: as much of it as fits, and what tells its place from all others. */
function markedName(qualified: string, place: string): string {
  const mark = createHash('sha256').update(place).digest('hex').slice(0, 16)
  return `${qualified.slice(0, 64 - 1 - mark.length).replace(/-$/, '')}-${mark}`
}
