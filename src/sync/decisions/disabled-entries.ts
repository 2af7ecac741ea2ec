import { disabledIn, findingDisabled, keyOf, type DisabledMatch, type DisabledMatches } from './disabled-matches.ts'
import {
  MOST_PLACES,
  withEntry,
  type DisabledPlace,
  type DisabledSkill,
  type DisabledSkills,
} from './disabled-skills.ts'
import { baseName } from '../../base/paths.ts'
import type { Skill } from '../model/skill.ts'
import { atOnce, type Steps } from '../../base/cooperative.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'

/** The entry of a skill that is being disabled, as the snapshots have it. It need not be in one. */
export function entryOf(
  source: SourceId,
  path: string,
  snapshots: readonly Snapshot[],
  sourceOnly = false,
): DisabledSkill {
  const snapshot = snapshots.find((one) => one.source === source)
  const skill = snapshot?.skills.find((one) => one.path === path)
  const alone = sourceOnly && { sourceOnly: true as const }
  if (snapshot === undefined || skill === undefined) return { places: [unseen(source, path)], beside: [], ...alone }
  return { ...withPlace({ places: [], beside: [] }, placeOf(source, skill), snapshot, new Set([path])), ...alone }
}

/** Of a skill that is in no snapshot only what its path says is known. */
function unseen(source: SourceId, path: string): DisabledPlace {
  return path === '' ? { source, path } : { source, path, servedPath: path, name: baseName(path) }
}

/** The entries once a skill is enabled: without its own, and without each that it matches where it is now. */
export function enabledAt(
  before: DisabledSkills,
  source: SourceId,
  path: string,
  snapshots: readonly Snapshot[],
): DisabledSkills {
  const snapshot = snapshots.find((one) => one.source === source)
  let after = before.get(source)?.has(path) === true ? withEntry(before, source, path, undefined) : before
  for (;;) {
    const match = snapshot && disabledIn(snapshot, after).get(path)
    if (match === undefined || match.by === 'holds') return after
    after = withEntry(after, match.source, match.path, undefined)
  }
}

/** A skill that was met where its entry did not know it yet. */
export interface Returned extends DisabledMatch {
  readonly at: { readonly source: SourceId; readonly path: string }
}

/** The entries with all places where the snapshots have their skills now. The same value where that is nothing new. */
export interface Followed {
  readonly disabled: DisabledSkills
  readonly returned: readonly Returned[]
  /** Of an entry that has as many places as it can remember. */
  readonly full: DisabledMatch | undefined
}

/** What a skill that matches is known by from now on stands for it too, else its author brings it back in two steps. */
export function followed(before: DisabledSkills, snapshots: readonly Snapshot[]): Followed {
  return atOnce(following(before, snapshots))
}

/** `followed`, for where others wait. */
export function* following(before: DisabledSkills, snapshots: readonly Snapshot[]): Steps<Followed> {
  let now: Followed = { disabled: before, returned: [], full: undefined }
  // What is learnt in one round can be matched by in the next.
  for (let round: DisabledSkills | undefined; round !== now.disabled;) {
    round = now.disabled
    for (const snapshot of snapshots) {
      const matches = yield* findingDisabled(snapshot, round)
      for (const skill of snapshot.skills) now = withMet(now, skill, { snapshot, matches })
    }
  }
  return now
}

interface Around {
  readonly snapshot: Snapshot
  readonly matches: DisabledMatches
}

function withMet(now: Followed, skill: Skill, { snapshot, matches }: Around): Followed {
  const match = matches.get(skill.path)
  const entry = match && now.disabled.get(match.source)?.get(match.path)
  if (match === undefined || entry === undefined || match.by === 'holds') return now
  const place = placeIn(snapshot, skill, match.source)
  const after = withPlace(entry, place, snapshot, matches)
  if (after === entry) return now
  if (after.places.length > MOST_PLACES) return { ...now, full: now.full ?? match }
  const isElsewhere = match.by !== 'path' && !entry.places.some((one) => isAt(one, place))
  const met = { ...match, at: { source: snapshot.source, path: skill.path } }
  return {
    ...now,
    disabled: withEntry(now.disabled, match.source, match.path, after),
    returned: isElsewhere ? [...now.returned, met] : now.returned,
  }
}

function placeOf(source: SourceId, { path, servedPath, name, contract, files, ...skill }: Skill): DisabledPlace {
  const called = name ?? baseName(path)
  const file = files.find((one) => one.path === 'SKILL.md')
  // A file that is empty, say, is no skill's: other skills have the same.
  const canBeSkill = skill.standing !== 'withheld' || (name !== undefined && skill.description !== undefined)
  return {
    source,
    path,
    ...(servedPath !== undefined && { servedPath }),
    ...(called !== '' && { name: called }),
    ...(contract !== undefined && { id: contract.id }),
    ...(file !== undefined && canBeSkill && { document: file.sha256 }),
  }
}

/** In a source of somebody else the name is no sign of it: its neighbours have names of their own. */
function placeIn({ source }: Snapshot, skill: Skill, own: SourceId): DisabledPlace {
  const { name: _name, id: _id, ...rest } = placeOf(source, skill)
  return source === own ? placeOf(source, skill) : rest
}

function isAt(a: DisabledPlace, b: DisabledPlace): boolean {
  return keyOf(a.source, a.path) === keyOf(b.source, b.path)
}

function isSamePlace(a: DisabledPlace, b: DisabledPlace): boolean {
  return isRevised(a, b) && a.document === b.document
}

/** The same place, whatever its SKILL.md says. */
function isRevised(a: DisabledPlace, b: DisabledPlace): boolean {
  return (
    a.source === b.source && a.path === b.path && a.servedPath === b.servedPath && a.name === b.name && a.id === b.id
  )
}

/** `matched`: the paths of the snapshot that stand for a disabled skill. Others that are called alike are not meant. */
function withPlace(
  entry: DisabledSkill,
  place: DisabledPlace,
  { source, skills }: Snapshot,
  matched: Pick<ReadonlySet<string>, 'has'>,
): DisabledSkill {
  const { places, beside } = entry
  const { name, ...unnamed } = place
  const isNew = name !== undefined && !places.some((one) => one.source === source && one.name === name)
  const alike = isNew ? skills.filter((skill) => !matched.has(skill.path) && isCalled(skill, name)) : []
  const more = [...new Set([...beside, ...alike.map(({ path }) => keyOf(source, path))])]
  // So many that the name says nothing.
  const isUseless = more.length > MOST_PLACES
  const known = isUseless ? unnamed : place
  if (places.some((one) => isSamePlace(one, known))) return entry
  return { ...entry, places: withRevised(places, known), beside: isUseless ? beside : more }
}

/** One that was learnt has its newest SKILL.md, and the first the one that was disabled: the name stands for those in between. */
function withRevised(places: readonly DisabledPlace[], place: DisabledPlace): readonly DisabledPlace[] {
  const at = places.findIndex((one, index) => index > 0 && isRevised(one, place))
  return at === -1 ? [...places, place] : places.with(at, place)
}

function isCalled({ path, name }: Skill, wanted: string): boolean {
  return [name, baseName(path)].some((one) => one?.toLowerCase() === wanted.toLowerCase())
}
