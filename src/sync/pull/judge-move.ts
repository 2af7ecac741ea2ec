import { isWanted } from '../model/decisions/decisions.ts'
import type { Waiting } from '../model/outcome.ts'
import { isSameRevision } from '../model/revision.ts'
import { plainProblemOf } from '../model/sync-error.ts'
import type { SyncError } from '../model/sync-error.ts'
import { followedBefore } from './followed-ref.ts'
import { holdOnMove } from './move-policy.ts'
import type { MovedFrom } from './move-policy.ts'
import type { ResolvedPull, RevisionPull } from './pull-context.ts'

/** Holds a move of the ref that must not be followed, before anything of it is fetched. */
export async function judgeMove(pull: ResolvedPull): Promise<Waiting | undefined> {
  const { current, revision } = pull
  const before = { served: current?.snapshot.revision, followed: followedBefore(pull)?.revision }
  const hold = await moveHold(pull, before)
  return hold ? { kind: 'held', revision, reason: plainProblemOf(hold) } : heldBefore(pull)
}

/** The reason not to follow the ref to the revision of the pull, from what is served and followed. */
export async function moveHold(pull: RevisionPull, before: MovedFrom): Promise<SyncError | undefined> {
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
