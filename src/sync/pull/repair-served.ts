import type { Drift, Outcome, Updated, Waiting } from '../model/outcome.ts'
import { isSameRevision } from '../model/revision.ts'
import { plainProblemOf, SyncError, type SyncErrorCode } from '../model/sync-error.ts'
import { isByRules } from '../survey/survey-rules.ts'
import { followedBefore } from './followed-ref.ts'
import { rulesFor } from './pull-context.ts'
import type { OpenPull, ResolvedPull, Take } from './pull-context.ts'
import { withSeen } from './resolve.ts'

/** Repairs the served content while a move of the ref is held: the hold may last for weeks. */
export async function repairWhileHeld(pull: ResolvedPull, held: Waiting, take: Take): Promise<Outcome> {
  if (!pull.isSeen) return { ...held, revision: undefined }
  const repaired = await repairServed(pull, take)
  return repaired === undefined ? held : withDrift(repaired, { error: held.reason, newest: pull.revision })
}

/** Takes the revision that was found. If it must not be served, repairs the served one instead. */
export async function takeOrRepair(pull: ResolvedPull, take: Take): Promise<Outcome> {
  const outcome = await newestOrRepaired(pull, take)
  return pull.isSeen ? withSeen(outcome, pull.revision) : outcome
}

async function newestOrRepaired(pull: ResolvedPull, take: Take): Promise<Outcome> {
  const { revision: newest } = pull
  try {
    const outcome = await take(pull)
    if (outcome.kind !== 'held') return outcome
    return (await repairedInstead(pull, { error: outcome.reason, newest }, take)) ?? outcome
  } catch (error) {
    // These errors are caused by the commit or its signatures; any other failure would affect the served one as well.
    const isOfCommit = error instanceof SyncError && OF_THE_COMMIT.has(error.code)
    const repaired = isOfCommit
      ? await repairedInstead(pull, { error: plainProblemOf(error), newest }, take)
      : undefined
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
async function repairedInstead(pull: ResolvedPull, drift: Drift, take: Take): Promise<Outcome | undefined> {
  const served = pull.current?.snapshot.revision
  if (served === undefined || isSameRevision(served, drift.newest)) return undefined
  const repaired = await repairServed(pull, take)
  return repaired?.kind === 'updated' ? withDrift(repaired, drift) : undefined
}

/**
 * Takes a source again at its current revision if it must not move. It does so if content is damaged or gone, or if the
 * rules were edited: the first reaction of an operator is to leave a skill out.
 */
async function repairServed(pull: OpenPull, take: Take): Promise<Updated | Waiting | undefined> {
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
export function withDrift(taken: Updated | Waiting, drift: Drift): Outcome {
  return taken.kind === 'updated' ? { ...taken, drift } : taken
}
