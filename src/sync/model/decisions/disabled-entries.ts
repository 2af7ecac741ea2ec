import { runNow, type Steps } from '../../../base/async/cooperative.ts'
import { baseName } from '../../../base/paths.ts'
import type { Skill, SkillFile } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import { disabledIn, findingDisabled, keyOf, type DisabledMatch, type DisabledMatches } from './disabled-matches.ts'
import {
  isAccepted,
  MOST_PLACES,
  NO_DISABLED_SKILLS,
  withEntry,
  type DisabledPlace,
  type DisabledSkill,
  type DisabledSkills,
  type ScanChange,
} from './disabled-skills.ts'
import type { OutOfService } from './out-of-service.ts'
import { activeRecalls, NO_RECALLS } from './recalled-skills.ts'
import type { RecalledSkill } from './recalled-skills.ts'

/** Makes the entry of a skill that is being disabled, from the snapshots. The skill need not be in any of them. */
export function disabledEntryOf(
  source: SourceId,
  path: string,
  snapshots: readonly Snapshot[],
  sourceOnly = false,
): DisabledSkill {
  const snapshot = snapshotWith(snapshots, { source, path })
  const skill = snapshot?.skills.find((one) => one.path === path)
  const alone = sourceOnly && { sourceOnly: true as const }
  if (snapshot === undefined || skill === undefined)
    return { places: [unseenPlace(source, path)], beside: [], ...alone }
  return { ...withPlace({ places: [], beside: [] }, placeOf(source, skill), snapshot, new Set([path])), ...alone }
}

/** The first of the snapshots that has a skill at this place: rings can have several of one source. */
export function snapshotWith(
  snapshots: readonly Snapshot[],
  { source, path }: { readonly source: SourceId; readonly path: string },
): Snapshot | undefined {
  return snapshots.find((one) => one.source === source && one.skills.some((skill) => skill.path === path))
}

/** If a skill is in no snapshot, only its path is known. */
function unseenPlace(source: SourceId, path: string): DisabledPlace {
  return path === '' ? { source, path } : { source, path, servedPath: path, name: baseName(path) }
}

/** The entries after a skill is enabled: without its own, and without each that it matches at its current place. */
export function enabledAt(
  before: DisabledSkills,
  source: SourceId,
  path: string,
  snapshots: readonly Snapshot[],
): DisabledSkills {
  const snapshot = snapshotWith(snapshots, { source, path })
  let after = withoutDecision(before, source, path)
  for (;;) {
    const match = snapshot && disabledIn(snapshot, { disabled: after, recalls: NO_RECALLS }).get(path)
    if (match === undefined || match.by === 'holds') return after
    after = withoutDecision(after, match.source, match.path)
  }
}

/** Ends a decision. What a scan took out of service stays accepted, or the next scan would do so again. */
function withoutDecision(before: DisabledSkills, source: SourceId, path: string): DisabledSkills {
  const entry = before.get(source)?.get(path)
  if (entry === undefined || isAccepted(entry)) return before
  const accepted = entry.scans?.map((scan) => ({ ...scan, accepted: true as const }))
  return withEntry(before, source, path, accepted && { ...entry, scans: accepted })
}

/** The entries after a scan: without the contents that it cleared, and with those that it takes out of service. */
export function scannedEntries(
  before: DisabledSkills,
  source: SourceId,
  changes: ReadonlyMap<string, ScanChange>,
): DisabledSkills {
  let after = before
  for (const [path, { withheld, cleared }] of changes) {
    const entry = after.get(source)?.get(path)
    // The decision of a person counts, and stays.
    if (entry !== undefined && entry.scans === undefined) continue
    const known = entry?.scans ?? []
    const kept = known.filter(({ digest }) => !cleared.has(digest))
    const more = withheld.filter(({ digest }) => !kept.some((one) => one.digest === digest))
    if (more.length === 0 && kept.length === known.length) continue
    const scans = [...kept, ...more]
    after = withEntry(after, source, path, scans.length === 0 ? undefined : { places: [], beside: [], scans })
  }
  return after
}

/** A skill at a place that its entry did not have yet. */
export interface Returned extends DisabledMatch {
  readonly at: { readonly source: SourceId; readonly path: string }
}

/** The entries with all current places of their skills in the snapshots. The same value if there is no new place. */
export interface FollowedEntries {
  readonly out: OutOfService
  readonly returned: readonly Returned[]
  /** The match of an entry that already has the maximum of places. */
  readonly full: DisabledMatch | undefined
}

/**
 * Adds the current place of each matching skill to its entry. Otherwise the author could bring the skill back in two
 * steps.
 */
export function followEntries(before: OutOfService, snapshots: readonly Snapshot[]): FollowedEntries {
  return runNow(following(before, snapshots))
}

/** `followEntries` in steps, for a caller that must let other work run. */
export function* following(before: OutOfService, snapshots: readonly Snapshot[]): Steps<FollowedEntries> {
  let now: FollowedEntries = { out: before, returned: [], full: undefined }
  // A place that one round adds can match in the next round.
  for (let round: OutOfService | undefined; round !== now.out;) {
    round = now.out
    // A skill can be disabled and recalled, and must stay known as both: either can end.
    for (const half of halvesOf(round))
      for (const snapshot of snapshots) {
        const matches = yield* findingDisabled(snapshot, half)
        for (const skill of snapshot.skills) now = withMet(now, skill, { snapshot, matches })
      }
  }
  return now
}

function halvesOf(out: OutOfService): readonly OutOfService[] {
  if (activeRecalls(out.recalls).length === 0 || out.disabled.size === 0) return [out]
  return [
    { ...out, disabled: NO_DISABLED_SKILLS },
    { ...out, recalls: NO_RECALLS },
  ]
}

interface Around {
  readonly snapshot: Snapshot
  readonly matches: DisabledMatches
}

function withMet(now: FollowedEntries, skill: Skill, { snapshot, matches }: Around): FollowedEntries {
  const match = matches.get(skill.path)
  const entry = match && entryOf(match, now.out)
  if (match === undefined || entry === undefined || match.by === 'holds' || match.by === 'scan') return now
  const place = placeIn(snapshot, skill, matches, ownSourceOf(match, snapshot))
  const after = withPlace(entry, place, snapshot, matches)
  if (after === entry) return now
  if (after.places.length > MOST_PLACES) return { ...now, full: now.full ?? match }
  const isElsewhere = match.by !== 'path' && !entry.places.some((one) => isAt(one, place))
  const met = { ...match, at: { source: snapshot.source, path: skill.path } }
  return {
    ...now,
    out: withMatched(now.out, match, after),
    returned: isElsewhere ? [...now.returned, met] : now.returned,
  }
}

function entryOf({ source, path, recall }: DisabledMatch, out: OutOfService): FollowedEntry | undefined {
  return recall === undefined ? out.disabled.get(source)?.get(path) : out.recalls.get(recall.id)
}

function withMatched(out: OutOfService, { source, path, recall }: DisabledMatch, after: FollowedEntry): OutOfService {
  if (recall === undefined) return { ...out, disabled: withEntry(out.disabled, source, path, after) }
  const before = out.recalls.get(recall.id) ?? recall
  return { ...out, recalls: new Map(out.recalls).set(recall.id, { ...before, ...after }) }
}

/**
 * The source in which the name of a skill identifies it. In that of another hub, the hub names it: no name of a recall
 * counts in sources that the hub does not have.
 */
function ownSourceOf({ source, recall }: DisabledMatch, snapshot: Snapshot): SourceId | undefined {
  if (recall === undefined) return source
  return recall.isOwn ? (recall.places[0]?.source ?? snapshot.source) : undefined
}

/** The part of an entry that follows its skill. */
type FollowedEntry = Pick<DisabledSkill, 'places' | 'beside'>

/** Adds the places of a recalled skill in the snapshots. */
export function recallIn(recall: RecalledSkill, snapshots: readonly Snapshot[]): RecalledSkill {
  const recalls = new Map([[recall.id, recall]])
  const { out } = followEntries({ disabled: NO_DISABLED_SKILLS, recalls }, snapshots)
  return out.recalls.get(recall.id) ?? recall
}

function placeOf(
  source: SourceId,
  { path, servedPath, name, contract, ...skill }: Skill,
  isAlone = false,
): DisabledPlace {
  const called = name ?? baseName(path)
  const file = documentOf(skill)
  // A file such as an empty one does not identify a skill: other skills have the same. A broken one does in its source,
  // if no other skill has it: the author could otherwise break the skill, move it, and mend it at its new place.
  const canBeSkill = skill.standing !== 'withheld' || isAlone || (name !== undefined && skill.description !== undefined)
  return {
    source,
    path,
    ...(servedPath !== undefined && { servedPath }),
    ...(called !== '' && { name: called }),
    ...(contract !== undefined && { id: contract.id }),
    ...(file !== undefined && canBeSkill && { document: file.sha256 }),
  }
}

/**
 * Drops the name and the id in a source other than the entry's own: they do not identify the skill there, since its
 * neighbors have their own.
 */
function placeIn(
  { source, skills }: Snapshot,
  skill: Skill,
  matched: Pick<ReadonlySet<string>, 'has'>,
  own: SourceId | undefined,
): DisabledPlace {
  const file = documentOf(skill)
  const isAlone =
    skill.standing === 'withheld' &&
    file !== undefined &&
    file.size > 0 &&
    !skills.some((one) => !matched.has(one.path) && documentOf(one)?.sha256 === file.sha256)
  const place = placeOf(source, skill, isAlone)
  const { name: _name, id: _id, ...rest } = place
  return source === own ? place : rest
}

function documentOf({ files }: Pick<Skill, 'files'>): SkillFile | undefined {
  return files.find(({ path }) => path === 'SKILL.md')
}

function isAt(a: DisabledPlace, b: DisabledPlace): boolean {
  return keyOf(a.source, a.path) === keyOf(b.source, b.path)
}

function isSamePlace(a: DisabledPlace, b: DisabledPlace): boolean {
  return isRevised(a, b) && a.document === b.document
}

/** True if the place is the same, whatever its SKILL.md says. */
function isRevised(a: DisabledPlace, b: DisabledPlace): boolean {
  return (
    a.source === b.source && a.path === b.path && a.servedPath === b.servedPath && a.name === b.name && a.id === b.id
  )
}

/**
 * `matched`: the paths of the snapshot that stand for a disabled skill. Other skills of the same name are not meant.
 */
function withPlace<Entry extends FollowedEntry>(
  entry: Entry,
  place: DisabledPlace,
  { source, skills }: Snapshot,
  matched: Pick<ReadonlySet<string>, 'has'>,
): Entry {
  const { places, beside } = entry
  const { name, ...unnamed } = place
  const isNew = name !== undefined && !places.some((one) => one.source === source && one.name === name)
  const alike = isNew ? skills.filter((skill) => !matched.has(skill.path) && isCalled(skill, name)) : []
  const more = [...new Set([...beside, ...alike.map(({ path }) => keyOf(source, path))])]
  // So many skills have the name that it identifies none.
  const isUseless = more.length > MOST_PLACES
  const known = isUseless ? unnamed : place
  if (places.some((one) => isSamePlace(one, known))) return entry
  return { ...entry, places: withRevised(places, known), beside: isUseless ? beside : more }
}

/**
 * A place that was added later has its newest SKILL.md, and the first place the one that was disabled. The name covers
 * the versions in between.
 */
function withRevised(places: readonly DisabledPlace[], place: DisabledPlace): readonly DisabledPlace[] {
  const at = places.findIndex((one, index) => index > 0 && isRevised(one, place))
  return at === -1 ? [...places, place] : places.with(at, place)
}

function isCalled({ path, name }: Skill, wanted: string): boolean {
  return [name, baseName(path)].some((one) => one?.toLowerCase() === wanted.toLowerCase())
}
