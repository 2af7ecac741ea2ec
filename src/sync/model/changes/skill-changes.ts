import { z } from 'zod'
import { countOf } from '../../../base/text/plural.ts'
import type { SkillCode } from '../../skill/skill-diagnostic.ts'
import { DECIDED_COMMIT } from '../decisions/decided.ts'
import { comparePaths } from '../digest.ts'
import type { ObjectId } from '../revision.ts'
import { isInLists, isLockable } from '../skill.ts'
import type { Skill } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { DocsChange } from './skill-review.ts'

/**
 * The ways in which a skill differs between two states of its source. `renamed`: the same skill in another folder, or
 * under another name. `withheld`: it is there, and its source must not serve it. `kept`: an earlier version is served,
 * because the later one is broken.
 */
export const CHANGE_KINDS = [
  'added',
  'changed',
  'renamed',
  'removed',
  'kept',
  'no-longer-withheld',
  'withheld',
] as const

export type ChangeKind = (typeof CHANGE_KINDS)[number]

const VERSION = z
  .object({
    path: z.string(),
    name: z.string(),
    digest: z.string(),
    /** The commit of an earlier version that is kept. */
    keptFrom: DECIDED_COMMIT.exactOptional(),
  })
  .readonly()

/** The form of a change in a record. */
export const CHANGE = z
  .object({
    /** Its real folder: the later one, or that of a removed skill. */
    path: z.string(),
    change: z.enum(CHANGE_KINDS),
    /** The two versions; absent on the side that does not have the skill, or withholds it. */
    from: VERSION.exactOptional(),
    to: VERSION.exactOptional(),
    /** The first reason why it is withheld, or an earlier version is kept. */
    reason: z
      .object({ code: z.custom<SkillCode>((code) => typeof code === 'string'), message: z.string() })
      .readonly()
      .exactOptional(),
    /** True if the skill is in no list on a side. */
    isUnlisted: z.literal(true).exactOptional(),
  })
  .readonly()

/** One skill that differs between two states of its source. */
export type SkillChange = z.infer<typeof CHANGE>
export type SkillVersion = z.infer<typeof VERSION>

/** A skill in one state of its source, as far as a comparison needs it. */
export interface SkillState {
  readonly name: string
  /** Absent for a skill that is withheld. */
  readonly digest?: string
  readonly from?: { readonly commit: ObjectId }
  readonly description?: string | undefined
  readonly reason?: SkillChange['reason']
  readonly isUnlisted?: true
}

/** The skills of a source in one state, by their paths. */
export type SkillStates = ReadonlyMap<string, SkillState>

/** The skills of a snapshot, those that are withheld included. */
export function skillStatesOf(snapshot: Pick<Snapshot, 'skills'> | undefined): SkillStates {
  return new Map(snapshot?.skills.map((skill) => [skill.path, skillStateOf(skill)]))
}

function skillStateOf(skill: Skill): SkillState {
  const { name = '', digest, description, kept, findings } = skill
  const [reason] = kept?.faults ?? findings
  const isOut = !isLockable(skill) || digest === undefined
  return {
    name,
    description,
    ...(!isOut && { digest }),
    ...(kept !== undefined && { from: { commit: kept.commit } }),
    ...((isOut || kept !== undefined) && reason && { reason: { code: reason.rule, message: reason.message } }),
    ...(!isOut && !isInLists(skill) && { isUnlisted: true }),
  }
}

/** The differences between two states, in the order of their paths. */
export function skillChanges(before: SkillStates, after: SkillStates): readonly SkillChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])]
  const changes = paths.flatMap((path) => changeAt(path, before.get(path), after.get(path)) ?? [])
  return withRenamed(changes, before, after).toSorted((a, b) => comparePaths(a.path, b.path))
}

/** The differences between two snapshots of a source. What is the same object in both costs nothing. */
export function changesBetween(
  before: Pick<Snapshot, 'skills'> | undefined,
  after: Pick<Snapshot, 'skills'>,
): readonly SkillChange[] {
  const skills = before?.skills ?? []
  const [was, is] = [othersThan(after.skills, skills), othersThan(skills, after.skills)]
  return skillChanges(skillStatesOf({ skills: was }), skillStatesOf({ skills: is }))
}

function changeAt(path: string, was: SkillState | undefined, is: SkillState | undefined): SkillChange | undefined {
  const [from, to] = [versionOf(path, was), versionOf(path, is)]
  if (from === undefined && to === undefined) {
    // A withheld skill that was there before is no news.
    return was === undefined && is !== undefined ? { path, change: 'withheld', ...reasonOf(is) } : undefined
  }
  const unlisted = was?.isUnlisted === true || is?.isUnlisted === true ? ({ isUnlisted: true } as const) : {}
  const sides = { ...(from && { from }), ...(to && { to }), ...unlisted }
  if (to === undefined) return { path, change: is === undefined ? 'removed' : 'withheld', ...sides, ...reasonOf(is) }
  if (from === undefined) return { path, change: was === undefined ? 'added' : 'no-longer-withheld', ...sides }
  if (from.digest !== to.digest) return { path, change: 'changed', ...sides }
  if (from.name !== to.name) return { path, change: 'renamed', ...sides }
  return from.keptFrom === undefined && to.keptFrom !== undefined
    ? { path, change: 'kept', ...sides, ...reasonOf(is) }
    : undefined
}

function versionOf(path: string, state: SkillState | undefined): SkillVersion | undefined {
  if (state?.digest === undefined) return undefined
  const { name, digest, from } = state
  return { path, name, digest, ...(from !== undefined && { keptFrom: from.commit }) }
}

function reasonOf(state: SkillState | undefined): Pick<SkillChange, 'reason'> {
  return state?.reason === undefined ? {} : { reason: state.reason }
}

/**
 * Makes one change of a removed and an added skill that are the same: by their bytes, or else by their description,
 * since a new name changes the bytes. Skills that several others could be stay as they are.
 */
function withRenamed(changes: readonly SkillChange[], before: SkillStates, after: SkillStates): readonly SkillChange[] {
  const isMoved = ({ change }: SkillChange): boolean => change === 'added' || change === 'removed'
  let left = changes
  for (const key of ['digest', 'description'] as const) {
    const keyOf = ({ path }: SkillChange): string => (before.get(path) ?? after.get(path))?.[key] ?? ''
    const renamed = new Map<SkillChange, readonly SkillChange[]>()
    for (const [value, [one, other, third]] of Map.groupBy(left.filter(isMoved), keyOf)) {
      if (value === '' || one === undefined || other === undefined || third !== undefined) continue
      const [was, is] = one.change === 'removed' ? [one, other] : [other, one]
      if (was.from === undefined || is.to === undefined) continue
      renamed.set(was, []).set(is, [{ ...was, ...is, change: 'renamed', from: was.from }])
    }
    left = left.flatMap((change) => renamed.get(change) ?? [change])
  }
  return left
}

/** The change of the docs from one side to another, by their digests; `undefined` if there is none. */
export function docsChange(before: string | undefined, after: string | undefined): DocsChange['change'] | undefined {
  if (before === after) return undefined
  if (before === undefined) return 'added'
  return after === undefined ? 'removed' : 'changed'
}

/** The same with both digests. */
export function docsBetween(from: string | undefined, to: string | undefined): DocsChange | undefined {
  const change = docsChange(from, to)
  return change && { change, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

/**
 * The items of `skills` that are not, as the same object, in `before`: usually very few of thousands. Both must be
 * sorted by path.
 */
export function othersThan(before: readonly Skill[], skills: readonly Skill[]): Skill[] {
  let at = 0
  return skills.filter((skill) => {
    while (before[at] !== skill && isBefore(before[at], skill)) at += 1
    if (before[at] !== skill) return true
    at += 1
    return false
  })
}

function isBefore(one: Skill | undefined, { path }: Skill): boolean {
  return one !== undefined && comparePaths(one.path, path) < 0
}

/** The changes of one kind, as people read them: their number, and the first of them. */
export interface ChangeGroup {
  readonly change: ChangeKind
  readonly count: number
  readonly first: readonly NamedChange[]
}

/** `was`: the path or the name before, of a renamed skill. */
export interface NamedChange {
  readonly path: string
  readonly was?: string
  readonly isUnlisted?: true
  readonly reason?: SkillChange['reason']
}

/** The changes by kind, in a fixed order, with the names of at most ten of each. */
export function changeGroups(changes: readonly SkillChange[]): readonly ChangeGroup[] {
  const groups = Map.groupBy(changes, ({ change }) => change)
  return CHANGE_KINDS.flatMap((change) => {
    const all = groups.get(change)
    return all === undefined ? [] : [{ change, count: all.length, first: all.slice(0, MOST_NAMED).map(namedChange) }]
  })
}

const MOST_NAMED = 10

function namedChange({ path, change, from, to, reason, isUnlisted }: SkillChange): NamedChange {
  const rest = { ...(reason && { reason }), ...(isUnlisted && { isUnlisted }) }
  if (change !== 'renamed' || from === undefined || to === undefined) return { path, ...rest }
  return from.path === to.path ? { path: to.name, was: from.name, ...rest } : { path, was: from.path, ...rest }
}

/** The changes in one line of text: of each kind the names, up to ten, and then the number of the others. */
export function changesText(groups: readonly ChangeGroup[]): string {
  return groups.map((group) => `${changeWord(group.change)} ${namesText(group)}`).join('; ')
}

/** The kind of a change as people read it. */
export function changeWord(change: ChangeKind): string {
  return change.replaceAll('-', ' ')
}

/** The names of a group. Of one without any, their number alone. */
export function namesText({ count, first }: ChangeGroup): string {
  const left = count - first.length
  if (first.length === 0) return countOf(count, 'skill')
  return `${first.map(nameText).join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

export function nameText({ path, was }: NamedChange): string {
  const name = path || ROOT
  return was === undefined ? name : `${was || ROOT} to ${name}`
}

const ROOT = 'the root'
