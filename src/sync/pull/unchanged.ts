import type { Outcome } from '../model/outcome.ts'
import { isSameRevision } from '../model/revision.ts'
import { isByRules } from '../survey/survey-rules.ts'
import { signerUpdate } from './check-signers.ts'
import { followedBefore } from './followed-ref.ts'
import { rulesFor } from './pull-context.ts'
import type { ResolvedPull } from './pull-context.ts'
import { withSeen } from './resolve.ts'

/** Ends a pull whose revision is served already. Other signers of the same content are an update. */
export async function stopIfUnchanged(pull: ResolvedPull): Promise<Outcome | undefined> {
  if (!isServed(pull)) return undefined
  return withSeen((await signerUpdate(pull)) ?? unchangedAt(pull), pull.revision)
}

/**
 * True if the source is already at the revision. A source whose rules were edited is surveyed again, although its ref
 * did not move.
 */
function isServed(pull: ResolvedPull): boolean {
  const { source, current, orders, revision } = pull
  if (orders.isDamaged === true) return false
  if (current === undefined || !isByRules(rulesFor(pull), current.snapshot)) return false
  // The commit itself has more content than its rebuilt form.
  if (current.snapshot.rebuiltFrom !== undefined) return false
  return current.snapshot.url === source.url && isSameRevision(current.snapshot.revision, revision)
}

function unchangedAt(pull: ResolvedPull): Outcome {
  const { revision } = pull
  const followed = followedBefore(pull)
  return { kind: 'unchanged', revision, ...(followed !== undefined && { followed }) }
}
