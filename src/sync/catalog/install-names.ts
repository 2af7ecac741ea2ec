import { createHash } from 'node:crypto'
import type { Steps } from '../../base/async/cooperative.ts'
import { IncrementalCache } from '../../base/async/incremental.ts'
import { contentKeyOf } from '../model/skill.ts'
import { isSkillName } from '../skill/skill-name.ts'
import type { CatalogSkill, FolderSkill } from './catalog-file.ts'
import type { Catalog } from './catalog.ts'
import { folderSkillsIn, isReadByInstallers, withoutCopies } from './folder-skills.ts'

/** An installable skill. */
export type InstallableSkill = CatalogSkill | FolderSkill

/** The names of installable skills. No name leads to two skills. */
export interface InstallNames {
  /** One skill for each distinct content of a name. */
  readonly listed: ReadonlyMap<string, InstallableSkill>
  /**
   * Names that belong to a single place of shared content: a client that installed a skill by such a name still finds
   * it.
   */
  readonly besides: ReadonlyMap<string, InstallableSkill>
  /** The URIs of all places of a listed name's content, in order; absent if there is only one place. */
  readonly places: ReadonlyMap<string, readonly string[]>
}

/** The names under which a catalog is offered to installers. They are made in slices, once for each catalog. */
export async function installNamesIn(catalog: Catalog): Promise<InstallNames> {
  return NAMES.ready(catalog)
}

const NAMES = new IncrementalCache<Catalog, InstallNames>((catalog) =>
  installNames(catalog.listed.filter(isReadByInstallers), folderSkillsIn(catalog).filter(isReadByInstallers)),
)

/** The listed name that leads to the content of a skill; `undefined` if none does. */
export function installNameOf(
  { uri }: Pick<CatalogSkill, 'uri'>,
  { listed, places }: InstallNames,
): string | undefined {
  const isIts = ([name, skill]: [string, InstallableSkill]): boolean =>
    skill.uri === uri || places.get(name)?.includes(uri) === true
  return [...listed].find(isIts)?.[0]
}

/**
 * Gives each skill a name for installers, which know only names. Skills with equal name and content are one. A name
 * with several contents, or a name of one skill that another skill could get, leads to none. Those skills are named by
 * source and path instead, so that no skill replaces another when a source gains a skill. A listed skill keeps its name
 * against folders of its own source. The result does not depend on the order of skills.
 */
export function* installNames(
  inLists: readonly CatalogSkill[],
  folderSkills: readonly FolderSkill[] = [],
): Steps<InstallNames> {
  const skills: readonly InstallableSkill[] = [...inLists, ...withoutCopies(folderSkills, inLists)]
  const yielding = yieldingAmong(inLists)
  const bearers = yield* bearing(skills.filter((skill) => !yielding(skill)))
  const forms: (Names & { readonly skill: InstallableSkill })[] = []
  // The number of uses of each name in all forms of all skills.
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
  const [listed, besides] = [new Map<string, InstallableSkill>(), new Map<string, InstallableSkill>()]
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

/** True for a skill named by its folder, if a listed skill of its source has the same name. */
function yieldingAmong(inLists: readonly CatalogSkill[]): (skill: InstallableSkill) => boolean {
  const names = new Set(inLists.map(({ source, name }) => `${source}/${name}`))
  return ({ uri, source, name }) => uri === undefined && names.has(`${source}/${name}`)
}

/** Returns the skills that share a name and have equal content, in the order of their places. */
function* bearing(skills: readonly InstallableSkill[]): Steps<ReadonlyMap<string, readonly InstallableSkill[]>> {
  const all = new Map<string, InstallableSkill[]>()
  for (const skill of skills) {
    const same = all.get(skill.name)
    if (same === undefined) all.set(skill.name, [skill])
    else same.push(skill)
    yield
  }
  const bearers = new Map<string, readonly InstallableSkill[]>()
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

/** The possible names of a skill, the shortest first. */
interface Names {
  readonly plain: string
  readonly qualified: string
  readonly marked: string
}

function namesOf(skill: InstallableSkill): Names {
  const path = skill.uri === undefined ? placeOf(skill) : decodeURIComponent(skill.root.slice('skill://'.length))
  const qualified = qualifiedName(path)
  return { plain: skill.name, qualified, marked: markedName(qualified, placeOf(skill)) }
}

/** Returns the URI, or a substitute for a skill without one. No URI has the form of the substitute. */
function placeOf({ uri, source, skill }: InstallableSkill): string {
  return uri ?? `${source}/${skill.path}`
}

/** Returns `team-pdf` for `team/pdf`, with the folders in between. */
function qualifiedName(path: string): string {
  const words = path.toLowerCase()
  return words.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** Shortens a name that is too long or taken, and appends a hash of its place. */
function markedName(qualified: string, place: string): string {
  const mark = createHash('sha256').update(place).digest('hex').slice(0, 16)
  return `${qualified.slice(0, 64 - 1 - mark.length).replace(/-$/, '')}-${mark}`
}
