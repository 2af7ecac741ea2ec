import { changesBetween } from '../model/changes/skill-changes.ts'
import type { LockEntry, LockedOrigin } from '../model/decisions/lock.ts'
import type { Updated } from '../model/outcome.ts'
import type { ObjectId, Revision } from '../model/revision.ts'
import { isSameSigners, type Signers } from '../model/signers.ts'
import { withheldSkill } from '../model/skill.ts'
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
  const known = [
    current?.snapshot.revision,
    orders.followed?.revision,
    ...lockedRevisions(orders.locked),
    ...lockedRevisions(orders.former),
  ]
  if (known.some((one) => one !== undefined && isSameObject(one, revision))) return true
  const { snapshots } = io.store
  for (const digest of await snapshots.digests()) {
    const kept = (await snapshots.outline(digest).catch(undefinedIfDamaged))?.snapshot
    if (kept?.source === source.id && isSameObject(kept.revision, revision)) return true
  }
  return false
}

/** The revisions that a lock entry names: its own, and those of earlier versions of skills. */
function lockedRevisions(entry: LockEntry | undefined): readonly (LockedOrigin | undefined)[] {
  return entry === undefined ? [] : [entry.revision, ...[...entry.skills.values()].map(({ from }) => from)]
}

/** True under any ref. A tag object has its own signature, so another tag object is a different revision. */
function isSameObject(a: Pick<Revision, 'commit' | 'tag'>, b: Pick<Revision, 'commit' | 'tag'>): boolean {
  return a.commit === b.commit && a.tag === b.tag
}

/**
 * Verifies the held snapshot again with the currently trusted keys: removing a key from the list takes what it signed
 * out of service. Another signer gives another snapshot, of the same files.
 */
export async function signerUpdate({ current, orders, io, source, signal }: Pull): Promise<Updated | undefined> {
  if (current === undefined) return undefined
  const { snapshot } = current
  const signers = await io.prove?.(proofOf(snapshot), snapshot.revision, 'again')
  const unsigned = await unsignedVersions(snapshot, io.prove)
  const [first] = unsigned.values()
  // A lock names the version, and nothing else may be served in its place.
  if (first !== undefined && orders.locked !== undefined) throw first
  if (isSameSigners(signers, snapshot.proof.signers) && first === undefined) return undefined
  const next = withoutVersions(withSigners(snapshot, signers), unsigned)
  const held = { source: source.id, snapshot: await io.store.snapshots.keep(next, signal) }
  const { revision } = snapshot
  const changes = first === undefined ? [] : changesBetween(snapshot, next)
  const same = { from: revision, changes, rewritten: false, isFromStore: true } as const
  return { kind: 'updated', revision, snapshot: next, held, ...same }
}

/** The earlier revisions in a snapshot that no currently trusted signer signed, each with the error. */
async function unsignedVersions(
  { keptFrom = [] }: Snapshot,
  prove: PullContext['prove'],
): Promise<ReadonlyMap<ObjectId, NotSigned>> {
  const unsigned = new Map<ObjectId, NotSigned>()
  for (const one of prove === undefined ? [] : keptFrom) {
    try {
      await prove?.(proofOf(one), one.revision, 'again')
    } catch (error) {
      if (!(error instanceof NotSigned)) throw error
      unsigned.set(one.revision.commit, error)
    }
  }
  return unsigned
}

/** The snapshot in which the earlier versions of these commits are withheld. */
function withoutVersions(snapshot: Snapshot, unsigned: ReadonlyMap<ObjectId, NotSigned>): Snapshot {
  if (unsigned.size === 0) return snapshot
  const { keptFrom = [], ...rest } = snapshot
  const left = keptFrom.filter(({ revision }) => !unsigned.has(revision.commit))
  const skills = snapshot.skills.map((skill) => {
    const error = skill.kept && unsigned.get(skill.kept.commit)
    const { message = '' } = error ?? {}
    return error === undefined ? skill : withheldSkill(skill, { rule: 'kept-version', path: skill.path, message })
  })
  return { ...rest, skills, ...(left.length > 0 && { keptFrom: left }) }
}

/**
 * Verifies a stored snapshot by the present trust, with the revisions of the earlier versions in it. Returns the signers of
 * its own revision.
 */
export async function proveAgain(snapshot: Snapshot, prove: PullContext['prove']): Promise<Signers | undefined> {
  const signers = await prove?.(proofOf(snapshot), snapshot.revision, 'again')
  const [first] = (await unsignedVersions(snapshot, prove)).values()
  if (first !== undefined) throw first
  return signers
}

/** The snapshot with its signers by the current trust. */
export function withSigners(snapshot: Snapshot, signers: Signers | undefined): Snapshot {
  const { signers: _old, ...proof } = snapshot.proof
  return { ...snapshot, proof: { ...proof, ...(signers !== undefined && { signers }) } }
}

/** The error if no currently trusted signer signed a stored snapshot; `undefined` if one did, or if that is unknown. */
export async function signatureFailure(snapshot: Snapshot, { prove }: PullContext): Promise<SyncError | undefined> {
  try {
    await proveAgain(snapshot, prove)
    return undefined
  } catch (error) {
    if (error instanceof NotSigned) return error
    if (error instanceof SyncError) return undefined
    throw error
  }
}
