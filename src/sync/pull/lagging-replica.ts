import type { Outcome } from '../model/outcome.ts'
import { isSameRevision, type ObjectId, type Revision } from '../model/revision.ts'
import { proofOf } from '../model/snapshot.ts'
import { CommitContradicted, isByChoice } from '../model/sync-error.ts'
import { parentsOf } from '../upstream/objects/git-object.ts'
import { followedBefore } from './followed-ref.ts'
import type { OpenPull, PullContext, ResolvedPull } from './pull-context.ts'

/**
 * Follows a ref, and looks at it again while a branch seems to have gone back to an earlier commit, or while its commit
 * cannot be fetched: replicas of a host lag behind each other. After three more looks the last answer counts.
 */
export async function followPatiently(
  opened: OpenPull,
  follow: (pull: ResolvedPull) => Promise<Outcome>,
): Promise<Followed> {
  let seen = await look(await resolveRevision(opened), follow)
  for (let looks = 0; looks < LOOKS && (await isOfReplica(seen)); looks += 1) {
    await opened.io.wait?.(LOOK_MS, opened.signal)
    const pull = await resolveRevision(opened)
    if ('error' in seen || !isSameRevision(pull.revision, seen.pull.revision)) seen = await look(pull, follow)
  }
  if ('error' in seen) throw seen.error
  return seen
}

/**
 * Finds the revision that a source should have: the target of its ref. If the operator holds the source at a commit
 * that is not served yet, it is that commit, without a request to upstream.
 */
async function resolveRevision(pull: OpenPull): Promise<ResolvedPull> {
  const { source, current, orders, io, upstream, signal } = pull
  // Whatever the ref says, it is to be fetched.
  if (current === undefined && source.kind === 'git') io.onFetchExpected?.()
  const held = orders.decision.hold?.commit
  if (held !== undefined && current?.snapshot.revision.commit !== held)
    return { ...pull, revision: { asked: source.ref, ref: held, commit: held }, isSeen: false }
  return { ...pull, revision: await upstream.resolve(signal), isSeen: true }
}

interface Followed {
  readonly pull: ResolvedPull
  readonly outcome: Outcome
}

/** One look at a ref. The error is that of a commit that was named and could not be fetched. */
type Look = Followed | { readonly pull: ResolvedPull; readonly error: CommitContradicted }

async function look(pull: ResolvedPull, follow: (pull: ResolvedPull) => Promise<Outcome>): Promise<Look> {
  try {
    return { pull, outcome: await follow(pull) }
  } catch (error) {
    if (error instanceof CommitContradicted) return { pull, error }
    throw error
  }
}

async function isOfReplica(seen: Look): Promise<boolean> {
  if (seen.pull.io.wait === undefined) return false
  return 'error' in seen || isHeldBack(seen.pull, seen.outcome)
}

const LOOKS = 3
/** The pause before each further look. */
export const LOOK_MS = 2_000

/** True for a new hold of a branch at a commit that comes before the served, the followed or the waiting one. */
async function isHeldBack(pull: ResolvedPull, outcome: Outcome): Promise<boolean> {
  const { current, orders, revision: found, isSeen } = pull
  if (outcome.kind !== 'waiting' || !isSeen || isByChoice(outcome.reason.code)) return false
  const waiting = orders.waiting?.revision
  if (waiting !== undefined && isSameRevision(waiting, found)) return false
  const before = [waiting, current?.snapshot.revision, followedBefore(pull)?.revision].filter(
    (one) => one !== undefined && one.ref === found.ref,
  )
  for (const commit of new Set(before.map((one) => one?.commit)))
    if (commit !== undefined && (await comesBefore(found, commit, pull))) return true
  return false
}

/**
 * Looks at a branch again while it is at a commit before this one, where it was. Returns the revision of the last look.
 */
export async function lookPast(
  found: Revision,
  commit: ObjectId,
  pull: Pick<OpenPull, 'current' | 'upstream' | 'signal'> & Pick<PullContext, 'wait'>,
): Promise<Revision> {
  let revision = found
  for (
    let look = 0;
    look < LOOKS && pull.wait !== undefined && (await comesBefore(revision, commit, pull));
    look += 1
  ) {
    await pull.wait(LOOK_MS, pull.signal)
    revision = await pull.upstream.resolve(pull.signal)
  }
  return revision
}

/** True if a branch is at a commit before another one that it was at. */
async function comesBefore(
  found: Revision,
  commit: ObjectId,
  { current, upstream, signal }: Pick<OpenPull, 'current' | 'upstream' | 'signal'>,
): Promise<boolean> {
  if (found.commit === commit || !found.ref.startsWith('refs/heads/')) return false
  const served = current?.snapshot
  if (served?.revision.commit === commit && parentsOf(proofOf(served).commit).includes(found.commit)) return true
  return (await upstream.relation(found.commit, commit, signal)) === 'descends'
}
