import { createHash } from 'node:crypto'
import type { ObjectId } from '../../../sync/model/revision.ts'
import { CHANNEL_REF } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { proofOf } from '../../../sync/model/snapshot.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { Verifying } from './verify-context.ts'

/**
 * Checks the raw objects of every kept snapshot against their ids, so that only the author of a commit can have written
 * them.
 */
export async function* proofsHold({ store, signal }: Verifying): AsyncGenerator<CheckResult> {
  for (const digest of (await store?.snapshots.digests()) ?? []) {
    signal.throwIfAborted()
    const snapshot = await store?.snapshots.readWhole(digest)
    if (snapshot !== undefined) yield* proofDiagnostics(snapshot)
  }
}

/** The faults in the proof of one snapshot. */
export function* proofDiagnostics(snapshot: Snapshot): Generator<CheckResult> {
  const { source, revision, tree, rebuiltFrom } = snapshot
  if (rebuiltFrom !== undefined) {
    const message = `upstream no longer had commit ${revision.commit}; its skills came from "${rebuiltFrom}" by their locked digests`
    yield verdicts('proof-missing', source).unknown(message)
    return
  }
  // The revision is the digest of an object, which the store verifies.
  if (revision.ref === CHANNEL_REF) return
  const { commit, tag } = proofOf(snapshot)
  yield* earlierDiagnostics(snapshot)
  const damaged = verdicts('proof-damaged', source).fail
  if (!isOf(revision.commit, 'commit', commit)) yield damaged(`the stored commit object is not ${revision.commit}`)
  else if (!Buffer.from(commit).toString('latin1').startsWith(`tree ${tree}\n`))
    yield damaged(`commit ${revision.commit} does not name the served tree ${tree}`)
  if (revision.tag === undefined) return
  if (tag === undefined)
    yield verdicts('proof-missing', source).unknown(
      `upstream no longer had the tag object ${revision.tag} when its commit was fetched`,
    )
  else if (!isOf(revision.tag, 'tag', tag)) yield damaged(`the stored tag object is not ${revision.tag}`)
}

/** The faults in the commits of the earlier versions in a snapshot. */
function* earlierDiagnostics({ source, keptFrom = [] }: Snapshot): Generator<CheckResult> {
  for (const { revision, proof } of keptFrom) {
    if (isOf(revision.commit, 'commit', proofOf({ proof }).commit)) continue
    const message = `the stored commit object is not ${revision.commit}, which earlier versions of skills are from`
    yield verdicts('proof-damaged', source).fail(message)
  }
}

/** Ids of 64 digits are those of a SHA-256 repository. */
function isOf(id: ObjectId, type: 'commit' | 'tag', bytes: Uint8Array): boolean {
  const hash = createHash(id.length === 64 ? 'sha256' : 'sha1')
  return hash.update(`${type} ${bytes.length}\0`).update(bytes).digest('hex') === id
}
