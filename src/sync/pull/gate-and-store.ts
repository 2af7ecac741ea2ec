import { isWanted } from '../decisions/decisions.ts'
import { holdReasonOf } from '../model/outcome.ts'
import type { Updated, Waiting } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import { isSameSigners, type Signers } from '../model/signers.ts'
import { UNMOVED, movedBetween } from '../model/skill-delta.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { proofOf } from '../model/snapshot.ts'
import type { Pull } from './pull-context.ts'

/** Runs the final check, and stores the snapshot so that it can be served. */
export async function gateAndStore(
  one: Pull,
  snapshot: Snapshot,
  rewritten: boolean | undefined,
): Promise<Updated | Waiting> {
  const { source, current, io, signal } = one
  const { revision } = snapshot
  const veto = await io.gate?.(snapshot, current?.snapshot, signal)
  if (veto?.code === 'awaiting-approval' && !isApproved(one, revision))
    return { kind: 'held', revision, reason: holdReasonOf(veto) }
  if (veto !== undefined && veto.code !== 'awaiting-approval') throw veto
  const held = { source: source.id, snapshot: await io.store.snapshots.keep(snapshot, signal) }
  const moved = movedBetween(current?.snapshot, snapshot)
  return { kind: 'updated', revision, snapshot, held, from: current?.snapshot.revision, moved, rewritten }
}

/** True if the operator approved exactly this revision. */
export function isApproved({ orders }: Pull, revision: Revision): boolean {
  return isWanted(orders.decision, revision)
}

/**
 * Verifies the held snapshot again with the currently trusted keys: removing a key from the list takes what it signed
 * out of service. Another signer gives another snapshot, of the same files.
 */
export async function resigned({ current, io, source, signal }: Pull): Promise<Updated | undefined> {
  if (current === undefined) return undefined
  const { snapshot } = current
  const signers = await io.prove?.(proofOf(snapshot), snapshot.revision, 'again')
  if (isSameSigners(signers, snapshot.proof.signers)) return undefined
  const next = withSigners(snapshot, signers)
  const held = { source: source.id, snapshot: await io.store.snapshots.keep(next, signal) }
  const { revision } = snapshot
  const same = { from: revision, moved: UNMOVED, rewritten: false, isFromStore: true } as const
  return { kind: 'updated', revision, snapshot: next, held, ...same }
}

/** The snapshot with its signers by the current trust. */
export function withSigners(snapshot: Snapshot, signers: Signers | undefined): Snapshot {
  const { signers: _old, ...proof } = snapshot.proof
  return { ...snapshot, proof: { ...proof, ...(signers !== undefined && { signers }) } }
}
