import { z } from 'zod'
import { identityOf } from '../../sync/decisions/decisions.ts'
import type { Drift, HoldReason, Outcome } from '../../sync/model/outcome.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import type { Revision } from '../../sync/model/revision.ts'
import { tallyOf } from '../../sync/model/snapshot.ts'
import { mendOf } from '../../sync/model/sync-error.ts'
import type { LockStanding } from '../trust/lock-rules.ts'

const TALLY = z.object({
  seen: z.number(),
  clean: z.number(),
  noted: z.number(),
  tools: z.number(),
  withheld: z.number(),
  links: z.number().optional(),
  pending: z.number(),
})

const PLACE = z.object({ ref: z.string(), commit: z.string() })

const LOCK = z.object({
  state: z.enum(['followed', 'other-rules', 'differs', 'absent', 'missing', 'unreadable', 'ignored', 'overruled']),
  by: z.enum(['--locked', 'update: locked']).optional(),
  commit: z.string().optional(),
})

/**
 * How the pull of one source ended, as plain data: a line of `skillsyncd sync`. `commit` is what is served, or, of one that is
 * held, what waits; `upstream` is where the ref was seen, absent where upstream was not asked for it.
 */
export const SYNC_END = z.object({
  source: z.string(),
  outcome: z.enum(['unchanged', 'updated', 'held', 'failed']),
  ref: z.string().optional(),
  commit: z.string().optional(),
  upstream: PLACE.optional(),
  lock: LOCK.optional(),
  skills: TALLY.optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  mend: z.string().optional(),
})

export type SyncEnd = z.infer<typeof SYNC_END>

/** What there is to say of a source besides the end of its pull. */
export interface Beside {
  /** The paths of its skills that wait for a person. */
  readonly pending: readonly string[]
  readonly served: Revision | undefined
  readonly lock: LockStanding
}

export function syncEndOf(source: string, outcome: Outcome, { pending, served, lock }: Beside): SyncEnd {
  switch (outcome.kind) {
    case 'failed':
      return { source, outcome: 'failed', lock, ...toldOf(source, outcome.error) }
    case 'held': {
      const { revision, reason } = outcome
      return { source, outcome: 'held', ...placeOf(revision), lock, ...toldOf(source, reason, revision) }
    }
    case 'unchanged': {
      const { revision, drift } = outcome
      return { source, outcome: 'unchanged', ...placeOf(served), ...seen(revision), lock, ...driftOf(source, drift) }
    }
    case 'updated': {
      const { revision, snapshot, drift } = outcome
      // What a pull found; what people disabled of it is the status's to tell.
      const { disabled: _none, ...skills } = tallyOf(snapshot.skills, new Set(), new Set(pending))
      const upstream = seen(drift?.newest ?? outcome.seen)
      return { source, outcome: 'updated', ...placeOf(revision), ...upstream, lock, skills, ...driftOf(source, drift) }
    }
    default:
      return outcome satisfies never
  }
}

/** A commit id that the configuration names is not asked for. */
function seen(revision: Revision | undefined): Pick<SyncEnd, 'upstream'> {
  if (revision === undefined || isObjectId(revision.ref)) return {}
  return { upstream: { ref: revision.ref, commit: revision.commit } }
}

function placeOf(revision: Revision | undefined): Pick<SyncEnd, 'ref' | 'commit'> {
  return revision === undefined ? {} : { ref: revision.ref, commit: revision.commit }
}

function driftOf(source: string, drift: Drift | undefined): Pick<SyncEnd, 'code' | 'message' | 'mend'> {
  return toldOf(source, drift?.error, drift?.newest)
}

/** `waiting`: what upstream has, of which the error says why it is not served. */
function toldOf(
  source: string,
  error: HoldReason | undefined,
  waiting?: Revision,
): Pick<SyncEnd, 'code' | 'message' | 'mend'> {
  if (error === undefined) return {}
  const mend = mendOf(error.code, waiting && { source, ...identityOf(waiting) })
  return { code: error.code, message: error.message, mend }
}
