import type { Updated } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import { isSameSigners, type Signers } from '../model/signers.ts'
import { UNMOVED } from '../model/skill-delta.ts'
import { proofOf } from '../model/snapshot.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { NotSigned, SignedLate, SyncError, undefinedIfDamaged } from '../model/sync-error.ts'
import type { Tree } from '../model/tree.ts'
import type { Pull, PullContext } from './pull-context.ts'

/**
 * The signers of a fetched tree; `undefined` if none are required. It is a first sight unless its commit was here
 * before or a lock names it: the date of a signature is only a claim of its signer, unlike the content of our store.
 */
export async function signersOf(one: Pull, { proof, revision }: Tree): Promise<Signers | undefined> {
  const { prove } = one.io
  try {
    return await prove?.(proof, revision, 'first')
  } catch (error) {
    if (!(error instanceof SignedLate) || !(await isKnown(one, revision))) throw error
    return prove?.(proof, revision, 'again')
  }
}

async function isKnown({ source, current, orders, io }: Pull, revision: Revision): Promise<boolean> {
  const known = [current?.snapshot.revision, orders.followed?.revision, orders.locked?.revision]
  if (known.some((one) => one !== undefined && isSameObject(one, revision))) return true
  const { snapshots } = io.store
  for (const digest of await snapshots.digests()) {
    const kept = (await snapshots.outline(digest).catch(undefinedIfDamaged))?.snapshot
    if (kept?.source === source.id && isSameObject(kept.revision, revision)) return true
  }
  return false
}

/** True under any ref. A tag object has its own signature, so another tag object is a different revision. */
function isSameObject(a: Revision, b: Revision): boolean {
  return a.commit === b.commit && a.tag === b.tag
}

/**
 * Verifies the held snapshot again with the currently trusted keys: removing a key from the list takes what it signed
 * out of service. Another signer gives another snapshot, of the same files.
 */
export async function signerUpdate({ current, io, source, signal }: Pull): Promise<Updated | undefined> {
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

/** The error if no currently trusted signer signed a stored snapshot; `undefined` if one did, or if that is unknown. */
export async function signatureFailure(snapshot: Snapshot, { prove }: PullContext): Promise<SyncError | undefined> {
  try {
    await prove?.(proofOf(snapshot), snapshot.revision, 'again')
    return undefined
  } catch (error) {
    if (error instanceof NotSigned) return error
    if (error instanceof SyncError) return undefined
    throw error
  }
}
