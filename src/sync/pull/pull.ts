import { isAbout, isWanted } from '../model/decisions/decisions.ts'
import { isLocked } from '../model/decisions/lock.ts'
import type { Drift, Outcome, Updated, Waiting } from '../model/outcome.ts'
import { isSameRevision } from '../model/revision.ts'
import type { Revision } from '../model/revision.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { isAway } from '../model/source.ts'
import { plainProblemOf, SyncError, unwrapSuppressed, type SyncErrorCode } from '../model/sync-error.ts'
import { isByRules } from '../survey/survey-rules.ts'
import type { Relation } from '../upstream/upstream.ts'
import { signatureFailure, signerUpdate } from './check-signers.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { followedBefore } from './followed-ref.ts'
import { judgeByGate, storeSnapshot } from './gate-and-store.ts'
import { followPatiently } from './lagging-replica.ts'
import { holdOnMove } from './move-policy.ts'
import type { MovedFrom } from './move-policy.ts'
import { rulesFor } from './pull-context.ts'
import type { OpenPull, Pull, ResolvedPull, RevisionPull } from './pull-context.ts'
import { pullLocked } from './pull-locked.ts'
import { isRewritten, judgeSnapshot } from './snapshot-policy.ts'

/**
 * Checks a source once. If the ref has not moved, nothing is written. If this returns `updated`, every skill version
 * and the snapshot are on the disk, but nothing is served yet.
 */
export async function pullSource(pull: Pull): Promise<Outcome> {
  const recordDamage = pull.io.store.objects.damageRecorder()
  try {
    const outcome = await takeRevision(pull)
    return (await withdrawalFrom(pull, outcome)) ?? outcome
  } catch (thrown) {
    const error = unwrapSuppressed(thrown)
    // The thread of a fetch has a connection of its own.
    recordDamage(error)
    return failureOf(pull, error)
  }
}

/** Takes the locked commit, or what the store has if the network is off, or else what the ref points to. */
async function takeRevision(pull: Pull): Promise<Outcome> {
  const { source, orders, io } = pull
  if (orders.locked !== undefined) return pullLocked(pull, orders.locked)
  if (orders.offline && isAway(source)) return offlineOutcome(pull)
  await using workspace = await io.store.workspace(pull.signal)
  return await followRef({ ...pull, upstream: io.open(source, workspace) })
}

/**
 * Judges a source in this order. If its newest commit must not be served, the served content is repaired where needed,
 * and a commit that the operator approved is taken although the branch has moved on from it.
 */
async function followRef(opened: OpenPull): Promise<Outcome> {
  const { pull, outcome } = await followPatiently(opened, followResolved)
  return outcome.kind === 'waiting' ? takeApproved(pull, outcome) : outcome
}

async function followResolved(pull: ResolvedPull): Promise<Outcome> {
  const unchanged = await stopIfUnchanged(pull)
  if (unchanged !== undefined) return unchanged
  const hold = await judgeMove(pull)
  return hold === undefined ? takeOrRepair(pull) : repairWhileHeld(pull, hold)
}

/** Takes one revision in this order, whatever chose it. The fetch verifies signatures before the survey. */
async function take(pull: RevisionPull): Promise<Updated | Waiting> {
  pull.io.onResolved?.(pull.revision)
  const snapshot = await fetchSnapshot(pull)
  const surveyed = { ...pull, snapshot, rewritten: await isRewritten(pull, snapshot) }
  return (await judgeSnapshot(surveyed)) ?? (await judgeByGate(surveyed)) ?? storeSnapshot(surveyed)
}

/** Ends a pull whose revision is served already. Other signers of the same content are an update. */
async function stopIfUnchanged(pull: ResolvedPull): Promise<Outcome | undefined> {
  if (!isServed(pull)) return undefined
  return withSeen((await signerUpdate(pull)) ?? unchangedAt(pull), pull.revision)
}

/**
 * True if the source is already at the revision. A source whose rules were edited is surveyed again, although its ref
 * did not move.
 */
function isServed(pull: ResolvedPull): boolean {
  const { source, current, orders, revision } = pull
  if (orders.isDamaged === true) return false
  if (current === undefined || !isByRules(rulesFor(pull), current.snapshot)) return false
  // The commit itself has more content than its rebuilt form.
  if (current.snapshot.rebuiltFrom !== undefined) return false
  return current.snapshot.url === source.url && isSameRevision(current.snapshot.revision, revision)
}

function unchangedAt(pull: ResolvedPull): Outcome {
  const { revision } = pull
  const followed = followedBefore(pull)
  return { kind: 'unchanged', revision, ...(followed !== undefined && { followed }) }
}

/** Adds the target of the ref, which upstream reported, whatever revision was taken. */
function withSeen(outcome: Outcome, seen: Revision): Outcome {
  return outcome.kind === 'updated' ? { ...outcome, seen } : outcome
}

/** Holds a move of the ref that must not be followed, before anything of it is fetched. */
async function judgeMove(pull: ResolvedPull): Promise<Waiting | undefined> {
  const { current, revision } = pull
  const before = { served: current?.snapshot.revision, followed: followedBefore(pull)?.revision }
  const hold = await moveHold(pull, before)
  return hold ? { kind: 'waiting', revision, reason: plainProblemOf(hold) } : heldBefore(pull)
}

/** The reason not to follow the ref to the revision of the pull, from what is served and followed. */
async function moveHold(pull: RevisionPull, before: MovedFrom): Promise<SyncError | undefined> {
  const { source, orders, revision, upstream, signal } = pull
  return holdOnMove({ source, ...before, found: revision, decision: orders.decision }, (from, to) =>
    upstream.relation(from.commit, to.commit, signal),
  )
}

/** The last pull's hold of the same revision, if the operator has not approved the revision since. */
function heldBefore({ orders, revision }: ResolvedPull): Waiting | undefined {
  const { waiting, decision } = orders
  const isSame = waiting?.revision !== undefined && isSameRevision(waiting.revision, revision)
  return isSame && !isWanted(decision, revision) ? waiting : undefined
}

/** Repairs the served content while a move of the ref is held: the hold may last for weeks. */
async function repairWhileHeld(pull: ResolvedPull, held: Waiting): Promise<Outcome> {
  if (!pull.isSeen) return { ...held, revision: undefined }
  const repaired = await repairServed(pull)
  return repaired === undefined ? held : withDrift(repaired, { error: held.reason, newest: pull.revision })
}

/** Takes the revision that was found. If it must not be served, repairs the served one instead. */
async function takeOrRepair(pull: ResolvedPull): Promise<Outcome> {
  const outcome = await newestOrRepaired(pull)
  return pull.isSeen ? withSeen(outcome, pull.revision) : outcome
}

async function newestOrRepaired(pull: ResolvedPull): Promise<Outcome> {
  const { revision: newest } = pull
  try {
    const outcome = await take(pull)
    if (outcome.kind !== 'waiting') return outcome
    return (await repairedInstead(pull, { error: outcome.reason, newest })) ?? outcome
  } catch (error) {
    // These errors are caused by the commit or its signatures; any other failure would affect the served one as well.
    const isOfCommit = error instanceof SyncError && OF_THE_COMMIT.has(error.code)
    const repaired = isOfCommit ? await repairedInstead(pull, { error: plainProblemOf(error), newest }) : undefined
    if (repaired === undefined) throw error
    return repaired
  }
}

const OF_THE_COMMIT: ReadonlySet<SyncErrorCode> = new Set([
  'content-refused',
  'root-not-found',
  'limit-exceeded',
  'revision-unverified',
])

/** Takes the served revision again if necessary, with the reason why it is not the newest. */
async function repairedInstead(pull: ResolvedPull, drift: Drift): Promise<Outcome | undefined> {
  const served = pull.current?.snapshot.revision
  if (served === undefined || isSameRevision(served, drift.newest)) return undefined
  const repaired = await repairServed(pull)
  return repaired?.kind === 'updated' ? withDrift(repaired, drift) : undefined
}

/**
 * Takes a source again at its current revision if it must not move. It does so if content is damaged or gone, or if the
 * rules were edited: the first reaction of an operator is to leave a skill out.
 */
async function repairServed(pull: OpenPull): Promise<Updated | Waiting | undefined> {
  const { source, current, orders } = pull
  const stands = current?.snapshot.url === source.url ? current.snapshot.revision : followedBefore(pull)?.revision
  const isWhole = current !== undefined && orders.isDamaged !== true
  if (stands === undefined || (isWhole && isByRules(rulesFor(pull), current.snapshot))) return undefined
  try {
    return await take({ ...pull, revision: stands })
  } catch (error) {
    // Upstream may no longer have it: the hold is then reported, and the served content stays.
    if (error instanceof SyncError) return undefined
    throw error
  }
}

/** Adds the reason why the newest revision is not the one that was taken. */
function withDrift(taken: Updated | Waiting, drift: Drift): Outcome {
  return taken.kind === 'updated' ? { ...taken, drift } : taken
}

/**
 * Takes the approved revision even if the branch has moved on from it to one that is held: otherwise a branch that
 * moves all the time would never be served.
 */
async function takeApproved(pull: ResolvedPull, held: Waiting): Promise<Outcome> {
  const { revision: found } = pull
  const approved = approvedApart(pull)
  if (approved === undefined) return held
  try {
    const relation = await relationTo(pull, approved)
    if (relation !== 'descends') return notTaken(held, approved, WHY_NOT[relation](found.ref))
    return withSeen(await takeBelow(pull, approved), found)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    // The waiting revision can be approved instead: a failure would hide it.
    return notTaken(held, approved, error.message)
  }
}

/** The approved revision, if it is neither the one that was found nor the served one. */
function approvedApart({ current, orders, revision: found }: ResolvedPull): Revision | undefined {
  const { approved, hold } = orders.decision
  if (approved === undefined || hold !== undefined || isAbout(approved, found)) return undefined
  if (isAbout(approved, current?.snapshot.revision ?? found)) return undefined
  return { asked: found.asked, ref: found.ref, commit: approved.commit }
}

const WHY_NOT: Readonly<Record<Exclude<Relation, 'descends'> | 'tag', (ref: string) => string>> = {
  rewritten: (ref) => `${ref} does not lead to it`,
  unknown: (ref) => `the host does not show if ${ref} leads to it`,
  tag: (ref) => `${ref} is no branch, and is at another commit now`,
}

/** Returns the relation of the commit that was found to the approved one; a tag has none. */
async function relationTo(
  { orders, revision: found, upstream, signal }: RevisionPull,
  { commit }: Revision,
): Promise<Relation | 'tag'> {
  if (orders.decision.approved?.tag !== undefined || !found.ref.startsWith('refs/heads/')) return 'tag'
  return upstream.relation(commit, found.commit, signal)
}

/** Takes the approved revision, with the reason why the newer one is not served. */
async function takeBelow(pull: RevisionPull, approved: Revision): Promise<Outcome> {
  const outcome = await take({ ...pull, revision: approved })
  const hold = await moveHold(pull, { served: approved, followed: approved })
  return hold === undefined ? outcome : withDrift(outcome, { error: plainProblemOf(hold), newest: pull.revision })
}

function notTaken({ reason, ...held }: Waiting, { commit }: Revision, why: string): Waiting {
  const message = `${reason.message}; the approved commit is not served, ${commit}: ${why}`
  return { ...held, reason: { code: reason.code, message } }
}

function offlineOutcome({ source, current }: Pull): Outcome {
  if (current !== undefined) return { kind: 'unchanged', revision: undefined }
  const message = `Cannot pull "${source.id}": nothing of it is in the store, and --offline forbids network access`
  throw new SyncError('not-stored', message)
}

/** Withdraws content that no currently trusted signer signed, whatever keeps the source where it is. */
async function withdrawalFrom({ current, io }: Pull, { kind }: Outcome): Promise<Outcome | undefined> {
  if (current === undefined || kind === 'updated' || kind === 'failed') return undefined
  const error = await signatureFailure(current.snapshot, io)
  return error && { kind: 'failed', error, withdraw: true }
}

/**
 * The outcome of a failure. Content that a demanded lock does not name, or that no trusted signer signed, must not stay
 * because of another failure.
 */
async function failureOf(pull: Pull, error: unknown): Promise<Outcome> {
  if (!(error instanceof SyncError)) throw error
  const { current } = pull
  const stays = current === undefined || (await mayStay(pull, current.snapshot))
  return { kind: 'failed', error, ...(!stays && { withdraw: true }) }
}

async function mayStay({ orders, io }: Pull, snapshot: Snapshot): Promise<boolean> {
  const { locked, isLockDemanded = false } = orders
  if (locked !== undefined && isLockDemanded && !isLocked(locked, snapshot)) return false
  return (await signatureFailure(snapshot, io)) === undefined
}
