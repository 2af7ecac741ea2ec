import { joinPath } from '../../../base/paths.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import { SyncError } from '../sync-error.ts'
import type { Decider } from './decided.ts'
import { byAge, isRecall, type OutOfService } from './out-of-service.ts'
import { MOST_CONTENTS, MOST_PUBLISHED_PLACES, MOST_RECALLS, recallIdOf } from './published-recall.ts'
import type { PublishedPlace, PublishedRecall } from './published-recall.ts'
import { MOST_PLACES, withRule } from './rules.ts'
import type { RecallRule, WithdrawnPlace } from './rules.ts'

/** Makes a recall at this hub. The places are added as those of any disabled skill are. */
export function newRecall(contents: Iterable<string>, reason: string, decider: Decider): RecallRule {
  const sorted = [...new Set(contents)].toSorted().slice(0, MOST_CONTENTS)
  const id = recallIdOf({ at: decider.at, contents: sorted })
  const on = { places: [], beside: [], contents: sorted }
  return { ...decider, reason, effect: 'withdraw', reach: 'followers', id, via: [], on }
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
export function withRecall(before: OutOfService, recall: RecallRule): OutOfService | undefined {
  const after = withRule(before, recall, (other) => isRecall(other) && other.id === recall.id)
  const recalls = after.filter(isRecall)
  if (recalls.length <= MOST_RECALLS) return after
  const active = recalls.filter(isInForce)
  if (sharesOf(recall).some((share) => active.filter((one) => sharesOf(one).includes(share)).length > MOST_RECALLS))
    return undefined
  const spare = recalls.length - Math.max(active.length, MOST_RECALLS)
  if (spare === 0) return after
  const gone = new Set<unknown>(byAge(recalls.filter((one) => !isInForce(one))).slice(0, spare))
  return after.filter((rule) => !gone.has(rule))
}

/** The logs that have a recall in force; `here` for one of this hub. The name of a log has a slash or a dot. */
function sharesOf(recall: RecallRule): readonly string[] {
  return isOwn(recall) ? ['here'] : recall.via
}

/** True if it was made at this hub: no other hub can end it. */
export function isOwn({ by }: RecallRule): boolean {
  return by !== 'hub'
}

function isInForce({ ended }: RecallRule): boolean {
  return ended === undefined
}

/** Finds a recall, in force or not. */
function recallWith(out: OutOfService, id: string): RecallRule | undefined {
  return out.filter(isRecall).find((recall) => recall.id === id)
}

/** Ends a recall here. One that was made at another hub ends only if no log has it in force that is still followed. */
export function withRevoked(before: OutOfService, id: string, at: string): OutOfService {
  const recall = recallWith(before, id)
  if (recall === undefined || !isInForce(recall)) return before
  return before.map((rule) => (rule === recall ? { ...recall, via: [], ended: at } : rule))
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
  before: OutOfService,
  list: readonly PublishedRecall[],
  { log, below }: FollowedSource,
): OutOfService {
  let after = before
  for (const recall of list) {
    const { id, at, contents, places, revoked } = recall
    const known = recallWith(after, id)
    if (known !== undefined && isOwn(known)) continue
    const others = (known?.via ?? []).filter((one) => one !== log)
    const via = revoked === undefined ? [...others, log].toSorted() : others
    const here = places.map((place) => placeHere(place, below))
    const next = withRecall(after, {
      ...toldOf(recall, known, log),
      id,
      at,
      by: 'hub',
      effect: 'withdraw',
      reach: 'followers',
      via,
      on: { contents, places: withPlaces(known?.on.places ?? [], here), beside: known?.on.beside ?? [] },
      ...(via.length === 0 && { ended: known?.ended ?? revoked ?? at }),
    })
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
function toldOf(
  recall: PublishedRecall,
  known: RecallRule | undefined,
  log: string,
): Pick<RecallRule, 'who' | 'reason'> {
  const who = recall.by ?? log
  const isKnown = known !== undefined && known.via.some((one) => one !== log)
  const isHearsay = isKnown && !(known.who !== undefined && known.via.includes(known.who))
  if (isKnown && !(isHearsay && who === log)) return { who: known.who ?? who, reason: known.reason ?? recall.reason }
  return { who, reason: recall.reason ?? known?.reason }
}

const TOO_MANY = `over ${MOST_RECALLS} of its recalls would be in force here`
const REVOKE = 'Have the hub that made them end those that are not needed any more: skillsyncd enable ID'

function placeHere({ source, path, servedPath, name }: PublishedPlace, below: SourceId | undefined): WithdrawnPlace {
  const here = (text: string): string => (below === undefined ? text : joinPath(source, text))
  return {
    source: below ?? source,
    path: here(path),
    ...(servedPath !== undefined && { servedPath: here(servedPath) }),
    ...(name !== undefined && { name }),
  }
}

function withPlaces(before: readonly WithdrawnPlace[], more: readonly WithdrawnPlace[]): readonly WithdrawnPlace[] {
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
function fullest(places: readonly WithdrawnPlace[]): { readonly count: number; readonly oldest: number } {
  const counts = new Map<SourceId, number>()
  for (const { source } of places) counts.set(source, (counts.get(source) ?? 0) + 1)
  const count = Math.max(...counts.values())
  return { count, oldest: places.findIndex(({ source }, index) => index > 0 && counts.get(source) === count) }
}

function isCovered(place: WithdrawnPlace, by: WithdrawnPlace): boolean {
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
  out: OutOfService,
  log: string,
  mayName?: (place: WithdrawnPlace) => boolean,
): readonly PublishedRecall[] {
  const published = new Map<string, RecallRule>()
  for (const recall of ranked(out.filter(isRecall))) if (published.size < MOST_RECALLS) published.set(recall.id, recall)
  return byAge([...published.values()]).map((recall) => publishedRecall(recall, log, mayName))
}

/**
 * Those of this hub first, and those that ended last. The logs of other hubs take turns in between, with the newest of
 * each: none keeps those of another out of the list. Some come twice.
 */
function* ranked(recalls: readonly RecallRule[]): Generator<RecallRule> {
  const newest = byAge(recalls).toReversed()
  const active = newest.filter(isInForce)
  yield* active.filter(isOwn)
  const byLog = new Map<string, RecallRule[]>()
  for (const recall of active) for (const one of recall.via) append(byLog, one, recall)
  for (let turn = 0; turn < MOST_RECALLS; turn += 1)
    for (const list of byLog.values()) yield* list.slice(turn, turn + 1)
  yield* active
  yield* newest
}

function append(lists: Map<string, RecallRule[]>, key: string, recall: RecallRule): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [recall])
  else list.push(recall)
}

/** The log of the hub that made a recall; `undefined` if it was made here. */
export function recallingHub(recall: RecallRule): string | undefined {
  return isOwn(recall) ? undefined : recall.who
}

function publishedRecall(
  recall: RecallRule,
  log: string,
  mayName: ((place: WithdrawnPlace) => boolean) | undefined,
): PublishedRecall {
  const { id, at, on, reason, ended } = recall
  const { contents, places } = on
  const named = mayName === undefined ? places : places.filter(mayName)
  const isTold = mayName === undefined || named.length > 0
  return {
    id,
    at,
    contents,
    by: recallingHub(recall) ?? log,
    ...(isTold && reason !== undefined && { reason }),
    places: [...named.slice(0, 1), ...named.slice(1).slice(1 - MOST_PUBLISHED_PLACES)].map(publishedPlace),
    ...(ended !== undefined && { revoked: ended }),
  }
}

function publishedPlace({ source, path, servedPath, name }: WithdrawnPlace): PublishedPlace {
  return { source, path, ...(servedPath !== undefined && { servedPath }), ...(name !== undefined && { name }) }
}
