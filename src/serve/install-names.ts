import { createHash } from 'node:crypto'
import type { CatalogSkill } from '../sync/model/catalog-entry.ts'
import { contentKeyOf } from '../sync/model/skill.ts'
import { isSkillName } from '../sync/model/skill-name.ts'
import type { Steps } from '../sync/model/slices.ts'

/** The names by which skills can be installed. No name leads to two of them. */
export interface InstallNames {
  /** One for each content of a name. */
  readonly listed: ReadonlyMap<string, CatalogSkill>
  /** The names that places of the same content had alone: a client that installed one by that name still finds it. */
  readonly besides: ReadonlyMap<string, CatalogSkill>
  /** By a listed name, the URIs of all places of its content, in order; none for a name with one place. */
  readonly places: ReadonlyMap<string, readonly string[]>
}

/**
 * Gives each skill the name by which it can be installed: installers know nothing but names. Skills of one name and one content are
 * one. A name that stands for several contents, or that one skill has and another could be given, leads to none; those are called after
 * their source and path instead. So none takes the place of another when a source gains a skill. The order of the skills does not
 * matter.
 */
export function* installNames(skills: readonly CatalogSkill[]): Steps<InstallNames> {
  const bearers = yield* bearing(skills)
  const forms: (Names & { readonly skill: CatalogSkill })[] = []
  // How often each stands among all forms of all skills.
  const counts = new Map<string, number>()
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const skill of skills) {
    const names = namesOf(skill)
    forms.push({ skill, ...names })
    const same = bearers.get(names.plain)
    if (same === undefined || same[0] === skill) count(names.plain)
    count(names.qualified)
    count(names.marked)
    yield
  }
  const isFree = (name: string): boolean => isSkillName(name) && counts.get(name) === 1
  const [listed, besides] = [new Map<string, CatalogSkill>(), new Map<string, CatalogSkill>()]
  const places = new Map<string, readonly string[]>()
  for (const { skill, plain, qualified, marked } of forms) {
    const same = bearers.get(plain)
    const alone = isFree(qualified) ? qualified : marked
    if (!isFree(plain)) listed.set(alone, skill)
    else if (same === undefined || same[0] === skill) listed.set(plain, skill)
    if (isFree(plain) && same !== undefined) {
      besides.set(alone, skill)
      places.set(
        plain,
        same.map(({ uri }) => uri),
      )
    }
    yield
  }
  return { listed, besides, places }
}

/** By name the skills that have it, in the order of their URIs, where there are several and all have the same content. */
function* bearing(skills: readonly CatalogSkill[]): Steps<ReadonlyMap<string, readonly CatalogSkill[]>> {
  const all = new Map<string, CatalogSkill[]>()
  for (const skill of skills) {
    const same = all.get(skill.name)
    if (same === undefined) all.set(skill.name, [skill])
    else same.push(skill)
    yield
  }
  const bearers = new Map<string, readonly CatalogSkill[]>()
  for (const [name, same] of all) {
    if (same.length > 1 && new Set(same.map(({ skill }) => contentKeyOf(skill))).size === 1)
      bearers.set(
        name,
        same.toSorted((a, b) => (a.uri < b.uri ? -1 : 1)),
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

function namesOf({ name, root, uri }: CatalogSkill): Names {
  const qualified = qualifiedName(root)
  return { plain: name, qualified, marked: markedName(qualified, uri) }
}

/** `team-pdf` for `skill://team/pdf`, with the folders between where there are any. */
function qualifiedName(root: string): string {
  const words = decodeURIComponent(root.slice('skill://'.length)).toLowerCase()
  return words.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

/** For what is too long, or a name already: as much of it as fits, and what tells its URI from all others. */
function markedName(qualified: string, uri: string): string {
  const mark = createHash('sha256').update(uri).digest('hex').slice(0, 16)
  return `${qualified.slice(0, 64 - 1 - mark.length).replace(/-$/, '')}-${mark}`
}
