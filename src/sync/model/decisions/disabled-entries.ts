import { runNow, type Steps } from '../../../base/async/cooperative.ts'
import { baseName } from '../../../base/paths.ts'
import type { Skill, SkillFile } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import type { Decider } from './decided.ts'
import { disabledIn, findingDisabled, keyOf, type DisabledMatch, type DisabledMatches } from './disabled-matches.ts'
import { activeRecalls, disabledHere, isDecidedAt, isRecall, firstPlace, type OutOfService } from './out-of-service.ts'
import { MOST_PLACES } from './rules.ts'
import type { RecallRule, SkillIdentity, WithdrawnPlace, WithdrawRule } from './rules.ts'

/** All that identifies a skill at its place, from the snapshots. The skill need not be in any of them. */
export function identityAt(source: SourceId, path: string, snapshots: readonly Snapshot[]): SkillIdentity {
  const snapshot = snapshotWith(snapshots, { source, path })
  const skill = snapshot?.skills.find((one) => one.path === path)
  const none = { places: [], beside: [], contents: [] }
  if (snapshot === undefined || skill === undefined) return { ...none, places: [unseenPlace(source, path)] }
  return withPlace(none, placeAt(source, skill), snapshot, new Set([path]))
}

/** The first of the snapshots that has a skill at this place: rings can have several of one source. */
export function snapshotWith(
  snapshots: readonly Snapshot[],
  { source, path }: { readonly source: SourceId; readonly path: string },
): Snapshot | undefined {
  return snapshots.find((one) => one.source === source && one.skills.some((skill) => skill.path === path))
}

/** If a skill is in no snapshot, only its path is known. */
function unseenPlace(source: SourceId, path: string): WithdrawnPlace {
  return path === '' ? { source, path } : { source, path, servedPath: path, name: baseName(path) }
}

/** A skill that a person disables, and how. */
export interface Disabling {
  readonly source: SourceId
  readonly path: string
  /** Skills with the same content in other sources stay in service. */
  readonly sourceOnly?: boolean | undefined
  readonly reason?: string | undefined
  readonly decider: Decider
}

/** The rules after a skill is disabled. The same value if a person disabled it before. */
export function disabledAt(
  before: OutOfService,
  { source, path, sourceOnly, reason, decider }: Disabling,
  snapshots: readonly Snapshot[],
): OutOfService {
  const isThere = (rule: WithdrawRule): boolean => isDecidedAt(rule, source, path)
  if (before.some((rule) => isThere(rule) && rule.by === 'person')) return before
  const reach = sourceOnly === true ? 'source' : 'hub'
  const rule = { ...decider, reason, effect: 'withdraw', reach, on: identityAt(source, path, snapshots) } as const
  return [...before.filter((one) => !isThere(one)), rule]
}

/** The rules after a skill is enabled: without its own, and without each that it matches at its current place. */
export function enabledAt(
  before: OutOfService,
  { source, path, at }: { readonly source: SourceId; readonly path: string; readonly at: string },
  snapshots: readonly Snapshot[],
): OutOfService {
  const snapshot = snapshotWith(snapshots, { source, path })
  let after = withoutDecision(before, { source, path, at })
  for (;;) {
    const match = snapshot && disabledIn(snapshot, disabledHere(after)).get(path)
    if (match === undefined || match.by === 'holds') return after
    after = withoutDecision(after, { ...match, at })
  }
}

/** Ends a decision. What a scan took out of service stays known, or the next scan would do so again. */
function withoutDecision(
  before: OutOfService,
  { source, path, at }: { readonly source: SourceId; readonly path: string; readonly at: string },
): OutOfService {
  const isMeant = (rule: WithdrawRule): boolean => rule.ended === undefined && isDecidedAt(rule, source, path)
  if (!before.some(isMeant)) return before
  return before.flatMap((rule) => {
    if (!isMeant(rule)) return [rule]
    return rule.by === 'scan' ? [{ ...rule, ended: at }] : []
  })
}

/** A content of a skill at its place. */
export interface ScannedContent {
  readonly source: SourceId
  readonly path: string
  readonly digest: string
}

/** The contents that a scan takes out of service, and those that none keeps out of service any more. */
export interface ScanChange {
  readonly withheld: readonly ScannedContent[]
  readonly cleared: readonly ScannedContent[]
  readonly at: string
}

/** The rules after a scan. The same value if it changes none. */
export function scannedEntries(before: OutOfService, { withheld, cleared, at }: ScanChange): OutOfService {
  const isOf = (rule: WithdrawRule, { source, path, digest }: ScannedContent): boolean =>
    // The decision of a person counts for any content, and stays.
    isDecidedAt(rule, source, path) && (rule.by === 'person' || rule.on.contents.includes(digest))
  const kept = before.filter((rule) => rule.by === 'person' || !cleared.some((one) => isOf(rule, one)))
  const added = withheld
    .filter((one) => !kept.some((rule) => isOf(rule, one)))
    .map(({ source, path, digest }): WithdrawRule => {
      const on = { places: [{ source, path }], beside: [], contents: [digest] }
      return { at, by: 'scan', effect: 'withdraw', reach: 'source', on }
    })
  return kept.length === before.length && added.length === 0 ? before : [...kept, ...added]
}

/** A skill at a place that its rule did not have yet. */
export interface Returned extends Pick<DisabledMatch, 'source' | 'path' | 'by'> {
  readonly at: { readonly source: SourceId; readonly path: string }
}

/** The rules with all current places of their skills in the snapshots. The same value if there is no new place. */
export interface FollowedEntries {
  readonly out: OutOfService
  readonly returned: readonly Returned[]
  /** The match of a rule that already has the maximum of places. */
  readonly full: DisabledMatch | undefined
}

/**
 * Adds the current place of each matching skill to its rule. Otherwise the author could bring the skill back in two
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
        for (const skill of snapshot.skills) now = withMet(now, skill, { snapshot, snapshots, matches })
      }
  }
  return now
}

function halvesOf(out: OutOfService): readonly OutOfService[] {
  const [recalls, here] = [activeRecalls(out), disabledHere(out)]
  return recalls.length === 0 || here.length === 0 ? [out] : [recalls, here]
}

interface Around {
  readonly snapshot: Snapshot
  readonly snapshots: readonly Snapshot[]
  readonly matches: DisabledMatches
}

function withMet(now: FollowedEntries, skill: Skill, { snapshot, snapshots, matches }: Around): FollowedEntries {
  const match = matches.get(skill.path)
  if (match === undefined || match.by === 'holds' || match.by === 'scan') return now
  // An earlier skill of the round may have added a place to the rule.
  const rule = now.out.find((one) => isSameRule(one, match.rule)) ?? match.rule
  const { source } = snapshot
  const place = placeIn(snapshot, skill, matches, ownSourceOf(match.rule, snapshot))
  const more = withPlace(rule.on, place, snapshot, matches)
  if (more === rule.on) return now
  const after = { ...more, places: withoutEarlier(more.places, snapshots) }
  if (after.places.length > MOST_PLACES) return { ...now, full: now.full ?? match }
  const isElsewhere = match.by !== 'path' && !rule.on.places.some((one) => isAt(one, place))
  const met = { source: match.source, path: match.path, by: match.by, at: { source, path: skill.path } }
  return {
    ...now,
    out: now.out.map((one) => (one === rule ? { ...rule, on: after } : one)),
    returned: isElsewhere ? [...now.returned, met] : now.returned,
  }
}

/** True for the same rule, whatever places it has. */
function isSameRule(a: WithdrawRule, b: WithdrawRule): boolean {
  if (isRecall(a) || isRecall(b)) return isRecall(a) && isRecall(b) && a.id === b.id
  const place = firstPlace(b)
  return a.by === b.by && place !== undefined && isDecidedAt(a, place.source, place.path)
}

/**
 * The source in which the name of a skill identifies it. In that of another hub, the hub names it: no name of a recall
 * counts in sources that the hub does not have.
 */
function ownSourceOf(rule: WithdrawRule, snapshot: Snapshot): SourceId | undefined {
  return rule.by === 'hub' ? undefined : (firstPlace(rule)?.source ?? snapshot.source)
}

/** Adds the places of a recalled skill in the snapshots. */
export function recallIn(recall: RecallRule, snapshots: readonly Snapshot[]): RecallRule {
  return followEntries([recall], snapshots).out.find(isRecall) ?? recall
}

function placeAt(
  source: SourceId,
  { path, servedPath, name, contract, ...skill }: Skill,
  isAlone = false,
): WithdrawnPlace {
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
): WithdrawnPlace {
  const file = documentOf(skill)
  const isAlone =
    skill.standing === 'withheld' &&
    file !== undefined &&
    file.size > 0 &&
    !skills.some((one) => !matched.has(one.path) && documentOf(one)?.sha256 === file.sha256)
  const place = placeAt(source, skill, isAlone)
  const { name: _name, id: _id, ...rest } = place
  return source === own ? place : rest
}

function documentOf({ files }: Pick<Skill, 'files'>): SkillFile | undefined {
  return files.find(({ path }) => path === 'SKILL.md')
}

function isAt(a: WithdrawnPlace, b: WithdrawnPlace): boolean {
  return keyOf(a.source, a.path) === keyOf(b.source, b.path)
}

/** True if the place is the same, whatever its SKILL.md says. */
function isRevised(a: WithdrawnPlace, b: WithdrawnPlace): boolean {
  return (
    a.source === b.source && a.path === b.path && a.servedPath === b.servedPath && a.name === b.name && a.id === b.id
  )
}

/**
 * `matched`: the paths of the snapshot that stand for a disabled skill. Other skills of the same name are not meant.
 */
function withPlace(
  identity: SkillIdentity,
  place: WithdrawnPlace,
  { source, skills }: Snapshot,
  matched: Pick<ReadonlySet<string>, 'has'>,
): SkillIdentity {
  const { places, beside } = identity
  const { name, ...unnamed } = place
  const isNew = name !== undefined && !places.some((one) => one.source === source && one.name === name)
  const alike = isNew ? skills.filter((skill) => !matched.has(skill.path) && isCalled(skill, name)) : []
  const more = [...new Set([...beside, ...alike.map(({ path }) => keyOf(source, path))])]
  // So many skills have the name that it identifies none.
  const isUseless = more.length > MOST_PLACES
  const known = isUseless ? unnamed : place
  if (places.some((one) => isRevised(one, known) && (known.document ?? one.document) === one.document)) return identity
  return { ...identity, places: [...places, known], beside: isUseless ? beside : more }
}

/**
 * Drops the places that the newest one replaces, with a SKILL.md that their source has nowhere any more. The first place
 * keeps the one that was disabled. The name covers the versions in between.
 */
function withoutEarlier(places: readonly WithdrawnPlace[], snapshots: readonly Snapshot[]): readonly WithdrawnPlace[] {
  const newest = places.at(-1)
  return places.filter((one, index) => {
    const { source, document } = one
    const isOf = ({ files }: Pick<Skill, 'files'>): boolean => files.some(({ sha256 }) => sha256 === document)
    const isThere = (of: Snapshot): boolean =>
      of.source === source && (of.skills.some(isOf) || (of.docs !== undefined && isOf(of.docs)))
    const isEarlier = index > 0 && newest !== undefined && one !== newest && isRevised(one, newest)
    return !isEarlier || snapshots.some(isThere)
  })
}

function isCalled({ path, name }: Skill, wanted: string): boolean {
  return [name, baseName(path)].some((one) => one?.toLowerCase() === wanted.toLowerCase())
}
