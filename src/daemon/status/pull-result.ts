import { z } from 'zod'
import { changeGroups } from '../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup } from '../../sync/model/changes/skill-changes.ts'
import { identityOf } from '../../sync/model/decisions/decisions.ts'
import type { Drift, HoldReason, Outcome } from '../../sync/model/outcome.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import type { Revision } from '../../sync/model/revision.ts'
import { mendOf, plainProblemOf } from '../../sync/model/sync-error.ts'
import { tallyOf } from '../../sync/model/verdict/skill-states.ts'
import type { DecidedSkills } from '../../sync/model/verdict/skill-states.ts'
import { VERDICT_STATES } from '../../sync/model/verdict/verdict.ts'
import type { LockStanding } from '../pull/trust/lock-rules.ts'

const TALLY = z.record(z.enum([...VERDICT_STATES, 'seen', 'links']), z.number())

const PLACE = z.object({ ref: z.string(), commit: z.string() })

/** `place`: the key, file, entry or folder that the fix concerns. */
const PROBLEM = z.object({ code: z.string(), message: z.string(), fix: z.string(), place: z.string().optional() })

const LOCK = z.object({
  state: z.enum([
    'followed',
    'other-rules',
    'differs',
    'absent',
    'missing',
    'lost',
    'unreadable',
    'ignored',
    'overruled',
  ]),
  by: z.enum(['--locked', 'update: locked']).optional(),
  commit: z.string().optional(),
})

/**
 * The result of one source's pull, as plain data: a line of `skillsyncd sync`. `commit` is the served one, or for a
 * pull that waits the waiting one. `upstream` is the last seen position of the ref; absent if upstream was not queried.
 */
export const SYNC_END = z.object({
  source: z.string(),
  outcome: z.enum(['unchanged', 'updated', 'waiting', 'failed']),
  ref: z.string().optional(),
  commit: z.string().optional(),
  upstream: PLACE.optional(),
  lock: LOCK.optional(),
  tally: TALLY.optional(),
  /** The changes of its skills; absent if there are none. */
  changes: z.custom<readonly ChangeGroup[]>(Array.isArray).optional(),
  problem: PROBLEM.optional(),
})

/** The amount that a running pull has fetched: files in the store, and bytes of packs over HTTP. */
export const FETCHING = z.object({ source: z.string(), files: z.number(), bytes: z.number() })

/** An event of a request to sync: the progress of one source, or its result. */
export const SYNC_EVENT = z.union([z.object({ fetching: FETCHING }), SYNC_END])

export type SyncEnd = z.infer<typeof SYNC_END>

/** The state of a source in addition to its outcome. */
export interface SourceNotes {
  /** The decisions about its skills. */
  readonly decided: DecidedSkills
  readonly served: Revision | undefined
  readonly lock: LockStanding
}

export function syncEndOf(source: string, outcome: Outcome, { decided, served, lock }: SourceNotes): SyncEnd {
  switch (outcome.kind) {
    case 'failed':
      return { source, outcome: 'failed', lock, ...toldOf(source, plainProblemOf(outcome.error)) }
    case 'waiting': {
      const { revision, reason } = outcome
      return { source, outcome: 'waiting', ...placeOf(revision), lock, ...toldOf(source, reason, revision) }
    }
    case 'unchanged': {
      const { revision, drift } = outcome
      return {
        source,
        outcome: 'unchanged',
        ...placeOf(served),
        ...upstreamOf(revision),
        lock,
        ...driftOf(source, drift),
      }
    }
    case 'updated': {
      const { revision, snapshot, drift } = outcome
      const changes = changeGroups(outcome.changes)
      const tally = tallyOf(snapshot.skills, decided)
      const upstream = upstreamOf(drift?.newest ?? outcome.seen)
      return {
        source,
        outcome: 'updated',
        ...placeOf(revision),
        ...upstream,
        lock,
        tally,
        ...(changes.length > 0 && { changes }),
        ...driftOf(source, drift),
      }
    }
    default:
      return outcome satisfies never
  }
}

/** A commit id from the configuration is not queried. */
function upstreamOf(revision: Revision | undefined): Pick<SyncEnd, 'upstream'> {
  if (revision === undefined || isObjectId(revision.ref)) return {}
  return { upstream: { ref: revision.ref, commit: revision.commit } }
}

function placeOf(revision: Revision | undefined): Pick<SyncEnd, 'ref' | 'commit'> {
  return revision === undefined ? {} : { ref: revision.ref, commit: revision.commit }
}

function driftOf(source: string, drift: Drift | undefined): Pick<SyncEnd, 'problem'> {
  return toldOf(source, drift?.error, drift?.newest)
}

/** `waiting`: the upstream revision that is not served for the reason of the error. */
function toldOf(source: string, error: HoldReason | undefined, waiting?: Revision): Pick<SyncEnd, 'problem'> {
  if (error === undefined) return {}
  const fix = mendOf(error, { source, ...(waiting && identityOf(waiting)) })
  const { code, message, place } = error
  return { problem: { code, message, fix, ...(place !== undefined && { place }) } }
}
