import { joinPath } from '../../../base/paths.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import { SyncError } from '../sync-error.ts'
import { MOST_PLACES } from './disabled-skills.ts'
import type { DisabledPlace } from './disabled-skills.ts'
import { MOST_CONTENTS, MOST_PUBLISHED_PLACES, MOST_RECALLS, recallIdOf } from './published-recall.ts'
import type { PublishedPlace, PublishedRecall, Recall } from './published-recall.ts'

/** A recall that is obeyed here, with all that identifies its skill in the sources of this machine. */
export interface RecalledSkill extends Recall {
  /** True if it was made at this hub: no other hub can end it. */
  readonly isOwn: boolean
  /** The logs of other hubs in which it is in force; sorted. */
  readonly via: readonly string[]
  /** The places at which its skill was found here. */
  readonly places: readonly DisabledPlace[]
  /** Other skills that had the same name at that time (`source/path`, folded): the name does not identify them. */
  readonly beside: readonly string[]
  /** The time at which it ended, ISO 8601, UTC. */
  readonly revoked?: string
}

/** By id. An entry outlives restarts, pulls and the skill itself, and follows the skill to other places. */
export type RecalledSkills = ReadonlyMap<string, RecalledSkill>

export const NO_RECALLS: RecalledSkills = new Map()

/** The recalls in force, the oldest first. */
export function activeRecalls(recalls: RecalledSkills): readonly RecalledSkill[] {
  return inOrder(recalls).filter(({ revoked }) => revoked === undefined)
}

function inOrder(recalls: RecalledSkills): readonly RecalledSkill[] {
  return [...recalls.values()].toSorted((a, b) => (a.at + a.id < b.at + b.id ? -1 : 1))
}

/** Makes a recall at this hub. The places are added as those of any disabled skill are. */
export function newRecall(contents: Iterable<string>, reason: string, at: string): RecalledSkill {
  const sorted = [...new Set(contents)].toSorted().slice(0, MOST_CONTENTS)
  const id = recallIdOf({ at, contents: sorted })
  return { id, at, contents: sorted, reason, isOwn: true, via: [], places: [], beside: [] }
}

/** The digests by which a skill at this place is recalled; none if nothing of it is known. */
export function recalledContents(
  path: string,
  { skills }: Pick<Snapshot, 'skills'>,
  document: string | undefined,
): string[] {
  const skill = skills.find((one) => one.path === path)
  return [skill?.digest, document].filter((digest) => digest !== undefined)
}

/**
 * Adds or replaces a recall. Of those that ended, the oldest make room. `undefined` if too many are in force: of this
 * hub, or of one log that is followed. Each has a share, so that none can keep the others from recalling.
 */
export function withRecall(before: RecalledSkills, recall: RecalledSkill): RecalledSkills | undefined {
  const after = new Map(before).set(recall.id, recall)
  if (after.size <= MOST_RECALLS) return after
  const active = [...after.values()].filter(({ revoked }) => revoked === undefined)
  if (sharesOf(recall).some((share) => active.filter((one) => sharesOf(one).includes(share)).length > MOST_RECALLS))
    return undefined
  const spare = after.size - Math.max(active.length, MOST_RECALLS)
  if (spare === 0) return after
  const ended = inOrder(after).filter(({ revoked }) => revoked !== undefined)
  for (const { id } of ended.slice(0, spare)) after.delete(id)
  return after
}

/** The logs that have a recall in force; `here` for one of this hub. The name of a log has a slash or a dot. */
function sharesOf({ isOwn, via }: RecalledSkill): readonly string[] {
  return isOwn ? ['here'] : via
}

/** Ends a recall here. One that was made at another hub ends only if no log has it in force that is still followed. */
export function withRevoked(before: RecalledSkills, id: string, at: string): RecalledSkills {
  const recall = before.get(id)
  return recall === undefined ? before : new Map(before).set(id, { ...recall, via: [], revoked: at })
}

/** A log that is followed, and the names that its sources have here. */
export interface FollowedSource {
  /** The name of the log. */
  readonly log: string
  /** The source that takes all sources of the hub; `undefined` if each has its own id here. */
  readonly below: SourceId | undefined
}

/**
 * The recalls after the list of another hub was read. A recall that the list has counts from now on, and one whose end it
 * has ends, unless another log has it in force or it was made here. One that it lacks stays as it is: a hub that lost
 * its decisions brings nothing back. Its places count in the sources of that hub alone.
 */
export function withList(
  before: RecalledSkills,
  list: readonly PublishedRecall[],
  { log, below }: FollowedSource,
): RecalledSkills {
  let after = before
  for (const { places, revoked, ...recall } of list) {
    const known = after.get(recall.id)
    if (known?.isOwn === true) continue
    const others = (known?.via ?? []).filter((one) => one !== log)
    const via = revoked === undefined ? [...others, log].toSorted() : others
    const entry: RecalledSkill = {
      ...recall,
      ...toldOf(recall, known, log),
      isOwn: false,
      via,
      places: withPlaces(
        known?.places ?? [],
        places.map((place) => placeHere(place, below)),
      ),
      beside: known?.beside ?? [],
      ...(via.length === 0 && { revoked: known?.revoked ?? revoked ?? recall.at }),
    }
    const next = withRecall(after, entry)
    if (next === undefined)
      throw new SyncError('limit-exceeded', `Cannot obey the recalls of "${log}": ${TOO_MANY}`, { fix: REVOKE })
    after = next
  }
  return after
}

/**
 * The origin and the reason of a recall. The log in which it was first counts, and then the one that was read first: each
 * log can list the recalls of all others, with other words.
 */
function toldOf(recall: Recall, known: RecalledSkill | undefined, log: string): Pick<Recall, 'by' | 'reason'> {
  const by = recall.by ?? log
  const isKnown = known !== undefined && known.via.some((one) => one !== log)
  const isHearsay = isKnown && !(known.by !== undefined && known.via.includes(known.by))
  if (isKnown && !(isHearsay && by === log)) return { by: known.by ?? by, ...reasonOf(known) }
  return { by, ...reasonOf(recall.reason === undefined ? known : recall) }
}

function reasonOf(recall: Recall | undefined): Pick<Recall, 'reason'> {
  return recall?.reason === undefined ? {} : { reason: recall.reason }
}

const TOO_MANY = `over ${MOST_RECALLS} of its recalls would be in force here`
const REVOKE = 'Have the hub that made them end those that are not needed any more: skillsyncd enable ID'

function placeHere({ source, path, servedPath, name }: PublishedPlace, below: SourceId | undefined): DisabledPlace {
  const here = (text: string): string => (below === undefined ? text : joinPath(source, text))
  return {
    source: below ?? source,
    path: here(path),
    ...(servedPath !== undefined && { servedPath: here(servedPath) }),
    ...(name !== undefined && { name }),
  }
}

function withPlaces(before: readonly DisabledPlace[], more: readonly DisabledPlace[]): readonly DisabledPlace[] {
  const added = more.filter((place) => !before.some((one) => isCovered(place, one)))
  const places = [...before, ...added]
  for (let over = added.length > 0; over;) {
    const { count, oldest } = fullest(places)
    over = oldest > 0 && (count > MOST_TOLD || places.length > MOST_PLACES)
    if (over) places.splice(oldest, 1)
  }
  return added.length === 0 ? before : places
}

/** The places of one source that lists add to a recall. Others, and those that are found here, need room as well. */
const MOST_TOLD = MOST_PLACES / 4

/**
 * The source with the most places, as their number and the index of its oldest one but for the first of all: a hub names
 * places in its own sources alone, and keeps no other hub from naming its own.
 */
function fullest(places: readonly DisabledPlace[]): { readonly count: number; readonly oldest: number } {
  const counts = new Map<SourceId, number>()
  for (const { source } of places) counts.set(source, (counts.get(source) ?? 0) + 1)
  const count = Math.max(...counts.values())
  return { count, oldest: places.findIndex(({ source }, index) => index > 0 && counts.get(source) === count) }
}

function isCovered(place: DisabledPlace, by: DisabledPlace): boolean {
  return (
    place.source === by.source && place.path === by.path && place.servedPath === by.servedPath && place.name === by.name
  )
}

/**
 * The list of recalls that the channel of this hub has. `mayName`: true for a place whose skill the readers of the channel
 * may see; absent if they may see all. Readers that may see none of the places get the digests alone: a reason can name
 * the skill.
 */
export function publishedRecalls(
  recalls: RecalledSkills,
  log: string,
  mayName?: (place: DisabledPlace) => boolean,
): readonly PublishedRecall[] {
  const published = new Map<string, RecalledSkill>()
  for (const recall of ranked(recalls)) if (published.size < MOST_RECALLS) published.set(recall.id, recall)
  return inOrder(published).map((recall) => publishedRecall(recall, log, mayName))
}

/**
 * Those of this hub first, and those that ended last. The logs of other hubs take turns in between, with the newest of
 * each: none keeps those of another out of the list. Some come twice.
 */
function* ranked(recalls: RecalledSkills): Generator<RecalledSkill> {
  const newest = inOrder(recalls).toReversed()
  const active = newest.filter(({ revoked }) => revoked === undefined)
  yield* active.filter(({ isOwn }) => isOwn)
  const byLog = new Map<string, RecalledSkill[]>()
  for (const recall of active) for (const one of recall.via) append(byLog, one, recall)
  for (let turn = 0; turn < MOST_RECALLS; turn += 1)
    for (const list of byLog.values()) yield* list.slice(turn, turn + 1)
  yield* active
  yield* newest
}

function append(lists: Map<string, RecalledSkill[]>, key: string, recall: RecalledSkill): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [recall])
  else list.push(recall)
}

function publishedRecall(
  { id, at, contents, reason, by = '', places, revoked }: RecalledSkill,
  log: string,
  mayName: ((place: DisabledPlace) => boolean) | undefined,
): PublishedRecall {
  const named = mayName === undefined ? places : places.filter(mayName)
  const isTold = mayName === undefined || named.length > 0
  return {
    id,
    at,
    contents,
    by: by || log,
    ...(isTold && reason !== undefined && { reason }),
    places: [...named.slice(0, 1), ...named.slice(1).slice(1 - MOST_PUBLISHED_PLACES)].map(publishedPlace),
    ...(revoked !== undefined && { revoked }),
  }
}

function publishedPlace({ source, path, servedPath, name }: DisabledPlace): PublishedPlace {
  return { source, path, ...(servedPath !== undefined && { servedPath }), ...(name !== undefined && { name }) }
}
