import { changeGroups, changesBetween, changesText } from '../model/changes/skill-changes.ts'
import { isWanted } from '../model/decisions/decisions.ts'
import { followEntries } from '../model/decisions/disabled-entries.ts'
import type { OutOfService } from '../model/decisions/out-of-service.ts'
import { MOST_PLACES } from '../model/decisions/rules.ts'
import type { Waiting } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { proofOf } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import { plainProblemOf, SyncError } from '../model/sync-error.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import { committedSeconds, parentsOf } from '../upstream/objects/git-object.ts'
import type { Relation } from '../upstream/upstream.ts'
import { followedBefore, offeredCount } from './followed-ref.ts'
import { revisionText } from './move-policy.ts'
import type { OpenPull, SurveyedPull } from './pull-context.ts'

/**
 * Holds a commit for what the survey found: deleted skills, disabled ones that return, a pack over its limit, or a branch
 * that went back.
 */
export async function judgeSnapshot(pull: OpenPull & SurveyedPull): Promise<Waiting | undefined> {
  const { source, current, orders, io, snapshot, rewritten } = pull
  const { revision } = snapshot
  if (isWanted(orders.decision, revision)) return undefined
  const hold =
    massDeletion(source, followedBefore(pull), snapshot, current?.snapshot) ??
    disabledReturns(io.store.decisions.outOfService, snapshot) ??
    io.budget?.(snapshot) ??
    (rewritten === false ? undefined : await wentBack(pull))
  return hold && { kind: 'waiting', revision, reason: plainProblemOf(hold) }
}

/**
 * True if the served commit of a branch is no ancestor of the next one; `undefined` if that is unknown. Queries upstream
 * only if the commit itself does not name the previous one as its parent.
 */
export async function isRewritten(
  { current, upstream, signal }: OpenPull,
  next: Snapshot,
): Promise<boolean | undefined> {
  const before = current?.snapshot.revision
  if (before === undefined || before.ref !== next.revision.ref || !before.ref.startsWith('refs/heads/')) return false
  if (before.commit === next.revision.commit || parentsOf(proofOf(next).commit).includes(before.commit)) return false
  const relation = await upstream.relation(before.commit, next.revision.commit, signal)
  return relation === 'unknown' ? undefined : relation === 'rewritten'
}

/**
 * Holds a branch that goes back to a commit before the served one. The parents of the served commit are known here. If
 * a host reveals no more, the dates of the two commits decide: both are covered by the ids, so the host can forge
 * neither.
 */
async function wentBack({
  source,
  current,
  upstream,
  snapshot: next,
  signal,
}: OpenPull & SurveyedPull): Promise<SyncError | undefined> {
  if (source.brakes === 'follow' || current === undefined) return undefined
  // A newly configured repository has another history.
  if (current.snapshot.url !== next.url) return undefined
  const { revision: before } = current.snapshot
  const { commit } = next.revision
  const raw = proofOf(current.snapshot).commit
  const relation = parentsOf(raw).includes(commit) ? 'descends' : await upstream.relation(commit, before.commit, signal)
  const [dated, datedBefore] = [committedSeconds(proofOf(next).commit), committedSeconds(raw)]
  const isOlder = dated !== undefined && datedBefore !== undefined && dated < datedBefore
  if (relation === 'rewritten' || (relation === 'unknown' && !isOlder)) return undefined
  return olderCommit(source, before, next.revision, relation)
}

/** Holds a commit that removes most of the skills, which is more often a mistake than intended, and names the served ones. */
export function massDeletion(
  source: Source,
  earlier: TrackedRef | undefined,
  next: Snapshot,
  served?: Snapshot,
): SyncError | undefined {
  if (source.brakes === 'follow' || earlier === undefined) return undefined
  // The same commit under other rules: the operator left skills out.
  if (earlier.revision.commit === next.revision.commit) return undefined
  const [before, after] = [earlier.skills, offeredCount(next.skills)]
  // The owner of a folder may remove any skills; but a folder that is not mounted looks like an emptied one.
  const isFree = source.kind === 'directory' && after > 0
  if (isFree || !isMassDeletion(before, after)) return undefined
  const message = `Cannot follow: of the ${before} skills of "${source.id}" at ${revisionText(earlier.revision)} ${revisionText(next.revision)} has ${after}`
  // No file is gone: a line of an ignore file is the cause.
  const ignored = next.findings.find(({ rule }) => rule === 'skill-ignored')
  const cause = ignored === undefined ? '' : `; ${JSON.stringify(ignored.path)}: ${ignored.message}`
  return new SyncError('mass-deletion', `${message}${goneText(served, next)}${cause}`)
}

/** Every reader of the page sees this: a skill that is in no list is only counted. */
function goneText(served: Snapshot | undefined, next: Snapshot): string {
  const gone = changesBetween(served, next).filter(({ from, to }) => from !== undefined && to === undefined)
  if (gone.length === 0) return ''
  const groups = changeGroups(gone).map(({ change, count, first }) => {
    return { change, count, first: first.filter(({ isUnlisted }) => isUnlisted !== true) }
  })
  return `: ${changesText(groups)}`
}

/** True if no skill is left of some, or fewer than half and over five fewer. */
export function isMassDeletion(before: number, after: number): boolean {
  if (before === 0) return false
  return after === 0 || (after * 2 < before && before - after > SMALL_CHANGE)
}

/** The number of skills that may disappear without a hold, however few there are. */
const SMALL_CHANGE = 5

/**
 * The error for a branch that went back. A host that shows an older commit takes back later fixes; an owner who takes
 * back a commit has the same effect.
 */
function olderCommit(
  { id }: Source,
  before: Revision,
  found: Revision,
  relation: Exclude<Relation, 'rewritten'>,
): SyncError {
  const how =
    relation === 'descends'
      ? 'which comes before it'
      : 'which is dated before it, and whose history the host does not show'
  const message = `Cannot follow: ${found.ref} of "${id}" went back from ${revisionText(before)} to ${revisionText(found)}, ${how}`
  return new SyncError('history-rewritten', message)
}

/**
 * Holds a commit that has a disabled skill at more places than its entry can remember: its author could bring it back
 * from a place that is not remembered.
 */
function disabledReturns(out: OutOfService, next: Snapshot): SyncError | undefined {
  const { full } = followEntries(out, [next])
  if (full === undefined) return undefined
  const message = `Cannot follow: ${revisionText(next.revision)} of "${next.source}" has the disabled skill "${full.source}/${full.path}" at more than ${MOST_PLACES} places`
  return new SyncError('disabled-returns', message)
}
