import type { Revision } from '../model/revision.ts'
import type { Signers } from '../model/signers.ts'
import { SignedLate, undefinedIfDamaged } from '../model/sync-error.ts'
import type { Tree } from '../model/tree.ts'
import type { Pull } from './pull-context.ts'

/**
 * `first`: a revision is judged by what its keys may sign now. `again`: by what they were allowed to sign at the time.
 */
export type Sight = 'first' | 'again'

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
