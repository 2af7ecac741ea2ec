import { isAbout } from '../model/decisions/decisions.ts'
import type { Outcome, Waiting } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import { plainProblemOf, SyncError } from '../model/sync-error.ts'
import type { Relation } from '../upstream/upstream.ts'
import { moveHold } from './judge-move.ts'
import type { ResolvedPull, RevisionPull, Take } from './pull-context.ts'
import { withDrift } from './repair-served.ts'
import { withSeen } from './resolve.ts'

/**
 * Takes the approved revision even if the branch has moved on from it to one that is held: otherwise a branch that
 * moves all the time would never be served.
 */
export async function takeApproved(pull: ResolvedPull, held: Waiting, take: Take): Promise<Outcome> {
  const { revision: found } = pull
  const approved = approvedApart(pull)
  if (approved === undefined) return held
  try {
    const relation = await relationTo(pull, approved)
    if (relation !== 'descends') return notTaken(held, approved, WHY_NOT[relation](found.ref))
    return withSeen(await takeBelow(pull, approved, take), found)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    // The waiting revision can be approved instead: a failure would hide it.
    return notTaken(held, approved, error.message)
  }
}

/** The approved revision, if it is neither the one that was found nor the served one. */
function approvedApart({ current, orders, revision: found }: ResolvedPull): Revision | undefined {
  const { approved, frozen } = orders.decision
  if (approved === undefined || frozen !== undefined || isAbout(approved, found)) return undefined
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
async function takeBelow(pull: RevisionPull, approved: Revision, take: Take): Promise<Outcome> {
  const outcome = await take({ ...pull, revision: approved })
  const hold = await moveHold(pull, { served: approved, followed: approved })
  return hold === undefined ? outcome : withDrift(outcome, { error: plainProblemOf(hold), newest: pull.revision })
}

function notTaken({ reason, ...held }: Waiting, { commit }: Revision, why: string): Waiting {
  const message = `${reason.message}; the approved commit is not served, ${commit}: ${why}`
  return { ...held, reason: { code: reason.code, message } }
}
