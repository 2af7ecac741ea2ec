import { declarationOf } from '../decisions/approvals.ts'
import { isAbout } from '../decisions/decisions.ts'
import { isLocked } from '../decisions/lock.ts'
import { holdReasonOf } from '../model/outcome.ts'
import type { Drift, Outcome, Updated, Waiting } from '../model/outcome.ts'
import { isObjectId, isSameRevision, type Revision } from '../model/revision.ts'
import type { Snapshot, Current } from '../model/snapshot.ts'
import { proofOf } from '../model/snapshot.ts'
import { isAway, type Source } from '../model/source.ts'
import { NotSigned, SyncError, unsuppressed, type SyncErrorCode } from '../model/sync-error.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import { isByRules } from '../survey/survey-rules.ts'
import { committedSeconds, parentsOf } from '../upstream/git/objects/git-object.ts'
import type { Relation, Upstream } from '../upstream/upstream.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { isApproved, gateAndStore, resigned } from './gate-and-store.ts'
import { disabledReturns, followedIn, holdOnMove, massDeletion, olderCommit } from './move-policy.ts'
import { rulesFor } from './pull-context.ts'
import type { PullOrders, Pull, PullContext } from './pull-context.ts'
import { pullLocked } from './pull-locked.ts'

/**
 * Checks a source once. If the ref has not moved, nothing is written. If this returns `updated`, every skill version
 * and the snapshot are on the disk, but nothing is served yet.
 */
export async function pull(
  source: Source,
  current: Current | undefined,
  orders: PullOrders,
  io: PullContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const { locked } = orders
  const one: Pull = { source, current, orders, io, signal }
  try {
    const outcome = locked === undefined ? await follow(one) : await pullLocked(one, locked)
    return (await revokedIn(one, outcome)) ?? outcome
  } catch (thrown) {
    const error = unsuppressed(thrown)
    if (!(error instanceof SyncError)) throw error
    // Content that a demanded lock does not name, or that no trusted signer signed, must not stay because of another
    // failure.
    const stays = current === undefined || (await mayStay(one, current.snapshot))
    return { kind: 'failed', error, ...(!stays && { withdraw: true }) }
  }
}

/** Withdraws content that no currently trusted signer signed, whatever keeps the source where it is. */
async function revokedIn({ current, io }: Pull, { kind }: Outcome): Promise<Outcome | undefined> {
  if (current === undefined || kind === 'updated' || kind === 'failed') return undefined
  const error = await unproved(current.snapshot, io)
  return error && { kind: 'failed', error, withdraw: true }
}

async function mayStay({ orders, io }: Pull, snapshot: Snapshot): Promise<boolean> {
  const { locked, isLockDemanded = false } = orders
  if (locked !== undefined && isLockDemanded && !isLocked(locked, snapshot)) return false
  return (await unproved(snapshot, io)) === undefined
}

/** The error if no currently trusted signer signed a stored snapshot; `undefined` if one did, or if that is unknown. */
export async function unproved(
  snapshot: Snapshot,
  { prove }: Pick<PullContext, 'prove'>,
): Promise<SyncError | undefined> {
  try {
    await prove?.(proofOf(snapshot), snapshot.revision, 'again')
    return undefined
  } catch (error) {
    if (error instanceof NotSigned) return error
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** Follows the ref, unless something prevents it. */
async function follow(one: Pull): Promise<Outcome> {
  const { source, orders, io } = one
  if (orders.offline && isAway(source)) return offline(one)
  await using scratch = await io.store.scratch()
  const upstream = io.open(source, scratch.path)
  // Whatever the ref says, it is to be fetched.
  if (one.current === undefined && source.kind === 'git') io.onFetchExpected?.()
  const place = await wanted(one, upstream)
  const { revision } = place
  if (isHeld(one, revision) && !(await isBelied(one)))
    return withSeen((await resigned(one)) ?? unchanged(one, revision), revision)
  const outcome = await moved(one, place, upstream)
  return outcome.kind === 'held' ? ((await approvedBelow(one, outcome, revision, upstream)) ?? outcome) : outcome
}

/** Takes the new target of a ref, unless something prevents it. */
async function moved(one: Pull, { revision, isSeen }: Place, upstream: Upstream): Promise<Outcome> {
  const hold = await holdFrom(one, one.current?.snapshot.revision, followedBefore(one)?.revision, revision, upstream)
  const waiting: Waiting | undefined = hold
    ? { kind: 'held', revision, reason: holdReasonOf(hold) }
    : seenBefore(one, revision)
  if (waiting === undefined) {
    const outcome = await takenOrMended(one, revision, upstream)
    return isSeen ? withSeen(outcome, revision) : outcome
  }
  if (!isSeen) return { ...waiting, revision: undefined }
  const mended = await mendedIn(one, upstream)
  return mended === undefined ? waiting : besides(mended, { error: waiting.reason, newest: revision })
}

/** Adds the target of the ref, which upstream reported, whatever revision was taken. */
function withSeen(outcome: Outcome, seen: Revision): Outcome {
  return outcome.kind === 'updated' ? { ...outcome, seen } : outcome
}

async function holdFrom(
  { source, orders, signal }: Pull,
  served: Revision | undefined,
  followed: Revision | undefined,
  found: Revision,
  upstream: Upstream,
): Promise<SyncError | undefined> {
  const relationOf = (from: Revision, to: Revision): Promise<Relation> =>
    upstream.relation(from.commit, to.commit, signal)
  return holdOnMove(source, { served, followed }, found, orders.decision, relationOf)
}

/**
 * Takes the approved revision even if the branch has moved on from it: otherwise a branch that moves all the time would
 * never be served. `undefined` if nothing is approved except what is served.
 */
async function approvedBelow(
  one: Pull,
  waiting: Waiting,
  found: Revision,
  upstream: Upstream,
): Promise<Outcome | undefined> {
  const { current, orders, signal } = one
  const { approved, frozen } = orders.decision
  if (approved === undefined || frozen !== undefined || isAbout(approved, found)) return undefined
  if (isAbout(approved, current?.snapshot.revision ?? found)) return undefined
  const revision = { asked: found.asked, ref: found.ref, commit: approved.commit }
  try {
    const isBelow = approved.tag === undefined && found.ref.startsWith('refs/heads/')
    const relation = isBelow ? await upstream.relation(approved.commit, found.commit, signal) : 'unknown'
    if (relation !== 'descends') return notTaken(waiting, revision, `${found.ref} does not lead to it`)
    const outcome = await takeAnew(one, revision, upstream)
    const hold = await holdFrom(one, revision, revision, found, upstream)
    return withSeen(
      hold === undefined ? outcome : besides(outcome, { error: holdReasonOf(hold), newest: found }),
      found,
    )
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    // The waiting revision can be approved instead: a failure would hide it.
    return notTaken(waiting, revision, error.message)
  }
}

function notTaken({ reason, ...waiting }: Waiting, { commit }: Revision, why: string): Waiting {
  const message = `${reason.message}; what was approved is not taken, ${commit}: ${why}`
  return { ...waiting, reason: { code: reason.code, message } }
}

function unchanged(one: Pull, revision: Revision): Outcome {
  const followed = followedBefore(one)
  return { kind: 'unchanged', revision, ...(followed !== undefined && { followed }) }
}

/** The last pull's hold of the same revision, if the operator has not approved the revision since. */
function seenBefore(one: Pull, revision: Revision): Waiting | undefined {
  const { waiting } = one.orders
  const isSeen = waiting?.revision !== undefined && isSameRevision(waiting.revision, revision)
  return isSeen && !isApproved(one, revision) ? waiting : undefined
}

/** Adds the reason for the hold to the result of repairing the served content. */
function besides(mended: Updated | Waiting, drift: Drift): Outcome {
  return mended.kind === 'updated' ? { ...mended, drift } : mended
}

/** If the newest commit must not be served, repairs the served one: it may stay for weeks, damaged or by old rules. */
async function takenOrMended(one: Pull, revision: Revision, upstream: Upstream): Promise<Outcome> {
  try {
    const outcome = await takeAnew(one, revision, upstream)
    if (outcome.kind !== 'held') return outcome
    return (await servedAnew(one, { error: outcome.reason, newest: revision }, upstream)) ?? outcome
  } catch (error) {
    // These errors are caused by the commit or its signatures; any other failure would affect the served one as well.
    const isOfCommit = error instanceof SyncError && OF_THE_COMMIT.has(error.code)
    const mended = isOfCommit
      ? await servedAnew(one, { error: holdReasonOf(error), newest: revision }, upstream)
      : undefined
    if (mended === undefined) throw error
    return mended
  }
}

/** Takes the served revision again if necessary, with the reason why it is not the newest. */
async function servedAnew(one: Pull, drift: Drift, upstream: Upstream): Promise<Outcome | undefined> {
  const served = one.current?.snapshot.revision
  if (served === undefined || isSameRevision(served, drift.newest)) return undefined
  const mended = await mendedIn(one, upstream)
  return mended?.kind === 'updated' ? besides(mended, drift) : undefined
}

const OF_THE_COMMIT: ReadonlySet<SyncErrorCode> = new Set(['content-refused', 'limit-exceeded', 'revision-unverified'])

/** The revision from which the ref can have moved. `undefined` if it is of a repository that was configured before. */
function followedBefore({ source, current, orders }: Pull): TrackedRef | undefined {
  const served = current === undefined || isObjectId(current.snapshot.revision.ref) ? undefined : current.snapshot
  const followed = served === undefined ? orders.followed : followedIn(served)
  return followed?.url === source.url ? followed : undefined
}

/**
 * Takes a source again at its current revision if it must not move. It does so if content is damaged or gone, or if the
 * rules were edited: the first reaction of an operator is to leave a skill out.
 */
async function mendedIn(one: Pull, upstream: Upstream): Promise<Updated | Waiting | undefined> {
  const { source, current, orders } = one
  const stands = current?.snapshot.url === source.url ? current.snapshot.revision : followedBefore(one)?.revision
  const isWhole = current !== undefined && orders.isDamaged !== true
  if (stands === undefined || (isWhole && isByRules(rulesFor(one), current.snapshot))) return undefined
  try {
    return await takeAnew(one, stands, upstream)
  } catch (error) {
    // Upstream may no longer have it: the hold is then reported, and the served content stays.
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** The revision that a source should have. `isSeen`: upstream reported it as the target of the ref. */
interface Place {
  readonly revision: Revision
  readonly isSeen: boolean
}

/**
 * The target of the ref. If the operator froze the source at a commit that is not served yet, that commit, without a
 * request to upstream.
 */
async function wanted({ source, current, orders, signal }: Pull, upstream: Upstream): Promise<Place> {
  const { frozen } = orders.decision
  if (frozen !== undefined && current?.snapshot.revision.commit !== frozen.commit)
    return { revision: { asked: source.ref, ref: frozen.commit, commit: frozen.commit }, isSeen: false }
  return { revision: await upstream.resolve(signal), isSeen: true }
}

function offline({ source, current }: Pull): Outcome {
  if (current !== undefined) return { kind: 'unchanged', revision: undefined }
  const message = `Cannot pull "${source.id}": nothing of it is in the store, and --offline lets nobody be asked`
  throw new SyncError('not-stored', message)
}

async function takeAnew(one: Pull, revision: Revision, upstream: Upstream): Promise<Updated | Waiting> {
  const { source, io } = one
  io.onResolved?.(revision)
  const snapshot = await fetchSnapshot(one, revision, upstream)
  const rewritten = await isRewritten(one, snapshot, upstream)
  const hold = isApproved(one, revision)
    ? undefined
    : (massDeletion(source, followedBefore(one), snapshot) ??
      disabledReturns(io.store.decisions.disabled, snapshot) ??
      (rewritten === false ? undefined : await wentBack(one, snapshot, upstream)))
  if (hold !== undefined) return { kind: 'held', revision, reason: holdReasonOf(hold) }
  return gateAndStore(one, snapshot, rewritten)
}

/**
 * Checks only a branch, and queries upstream only if the commit itself does not name the previous one as its parent.
 */
async function isRewritten(
  { current, signal }: Pull,
  next: Snapshot,
  upstream: Upstream,
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
async function wentBack(
  { source, current, signal }: Pull,
  next: Snapshot,
  upstream: Upstream,
): Promise<SyncError | undefined> {
  if (source.brakes.olderCommit === 'follow' || current === undefined) return undefined
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

/**
 * True if other bytes arrived for a served skill: the process that found this may have ended before it withdrew the
 * skill.
 */
async function isBelied({ current, io }: Pull): Promise<boolean> {
  if (current === undefined) return false
  const { source, skills } = current.snapshot
  const mismatches = await io.store.upstreams.mismatches(source)
  if (mismatches.size === 0) return false
  return skills.some((skill) => skill.standing !== 'withheld' && mismatches.has(declarationOf(skill) ?? ''))
}

/**
 * True if the source is already at the revision. A source whose rules were edited is surveyed again, although its ref
 * did not move.
 */
function isHeld(one: Pull, revision: Revision): boolean {
  const { source, current, orders } = one
  if (orders.isDamaged === true) return false
  if (current === undefined || !isByRules(rulesFor(one), current.snapshot)) return false
  // The commit itself has more content than its rebuilt form.
  if (current.snapshot.rebuiltFrom !== undefined) return false
  return current.snapshot.url === source.url && isSameRevision(current.snapshot.revision, revision)
}
