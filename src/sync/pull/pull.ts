import { isLocked } from '../model/decisions/lock.ts'
import type { Outcome, Updated, Waiting } from '../model/outcome.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { isAway } from '../model/source.ts'
import { SyncError, unwrapSuppressed } from '../model/sync-error.ts'
import { takeApproved } from './approved-commit.ts'
import { signatureFailure } from './check-signers.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { judgeByGate, storeSnapshot } from './gate-and-store.ts'
import { judgeMove } from './judge-move.ts'
import { followPatiently } from './lagging-replica.ts'
import type { OpenPull, Pull, ResolvedPull, RevisionPull } from './pull-context.ts'
import { pullLocked } from './pull-locked.ts'
import { repairWhileHeld, takeOrRepair } from './repair-served.ts'
import { isRewritten, judgeSnapshot } from './snapshot-policy.ts'
import { stopIfUnchanged } from './unchanged.ts'

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
  return outcome.kind === 'held' ? takeApproved(pull, outcome, take) : outcome
}

async function followResolved(pull: ResolvedPull): Promise<Outcome> {
  const unchanged = await stopIfUnchanged(pull)
  if (unchanged !== undefined) return unchanged
  const hold = await judgeMove(pull)
  return hold === undefined ? takeOrRepair(pull, take) : repairWhileHeld(pull, hold, take)
}

/** Takes one revision in this order, whatever chose it. The fetch verifies signatures before the survey. */
async function take(pull: RevisionPull): Promise<Updated | Waiting> {
  pull.io.onResolved?.(pull.revision)
  const snapshot = await fetchSnapshot(pull)
  const surveyed = { ...pull, snapshot, rewritten: await isRewritten(pull, snapshot) }
  return (await judgeSnapshot(surveyed)) ?? (await judgeByGate(surveyed)) ?? storeSnapshot(surveyed)
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
