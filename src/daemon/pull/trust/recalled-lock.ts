import { disabledIn } from '../../../sync/model/decisions/disabled-matches.ts'
import { isRecall, type OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import type { Outcome } from '../../../sync/model/outcome.ts'
import { isLockable } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Store } from '../../../sync/store/store.ts'
import { recalledText, recallReason } from '../../status/decision-text.ts'

/** Throws `skill-recalled` if a lock of this content would name a recalled skill. */
export async function expectNotRecalled(snapshot: Snapshot, { decisions }: Pick<Store, 'decisions'>): Promise<void> {
  await decisions.read()
  const error = recallRefusal(snapshot, decisions.outOfService)
  if (error !== undefined) throw error
}

/**
 * The outcome of a pull that followed the lock: a lock that names a recalled skill is refused. What was served before stays,
 * without that skill.
 */
export function unlessRecalled(outcome: Outcome, current: Snapshot | undefined, out: OutOfService): Outcome {
  if (outcome.kind !== 'updated' && outcome.kind !== 'unchanged') return outcome
  const snapshot = outcome.kind === 'updated' ? outcome.snapshot : current
  const error = snapshot && recallRefusal(snapshot, out)
  return error === undefined ? outcome : { kind: 'failed', error }
}

/** Skills that a lock does not name are no reason: those that are withheld have no digest in it. */
function recallRefusal(snapshot: Snapshot, out: OutOfService): SyncError | undefined {
  const matches = disabledIn(snapshot, out.filter(isRecall))
  const named = snapshot.skills.flatMap((skill) => {
    const recall = isLockable(skill) ? matches.get(skill.path)?.rule : undefined
    return recall === undefined || !isRecall(recall)
      ? []
      : [`"${skill.path}" is recalled: ${recalledText(recallReason(recall))}`]
  })
  if (named.length === 0) return undefined
  const rest = named.length > MOST_NAMED ? `; and ${named.length - MOST_NAMED} more` : ''
  const what = `Cannot lock "${snapshot.source}" at ${snapshot.revision.commit}`
  return new SyncError('skill-recalled', `${what}: ${named.slice(0, MOST_NAMED).join('; ')}${rest}`)
}

const MOST_NAMED = 5
