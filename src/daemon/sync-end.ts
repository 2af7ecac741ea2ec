import { z } from 'zod'
import type { Outcome } from '../sync/model/outcome.ts'
import type { Revision } from '../sync/model/revision.ts'
import { tallyOf } from '../sync/model/snapshot.ts'
import { mendOf, type SyncError } from '../sync/model/sync-error.ts'

const TALLY = z.object({
  seen: z.number(),
  clean: z.number(),
  noted: z.number(),
  tools: z.number(),
  withheld: z.number(),
  pending: z.number(),
})

/** How the pull of one source ended, as plain data: a line of `skillsyncd sync`. */
export const SYNC_END = z.object({
  source: z.string(),
  outcome: z.enum(['unchanged', 'updated', 'held', 'failed']),
  ref: z.string().optional(),
  commit: z.string().optional(),
  skills: TALLY.optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  mend: z.string().optional(),
})

export type SyncEnd = z.infer<typeof SYNC_END>

/** `pending`: the paths of its skills that wait for a person. */
export function syncEndOf(source: string, outcome: Outcome, pending: readonly string[]): SyncEnd {
  switch (outcome.kind) {
    case 'failed':
      return { source, outcome: 'failed', ...toldOf(outcome.error) }
    case 'held':
      return { source, outcome: 'held', ...placeOf(outcome.revision), ...toldOf(outcome.reason) }
    case 'unchanged':
      return { source, outcome: 'unchanged', ...placeOf(outcome.revision), ...toldOf(outcome.drift?.error) }
    case 'updated': {
      // What a pull found; what people disabled of it is the status's to tell.
      const { disabled: _none, ...skills } = tallyOf(outcome.snapshot.skills, new Set(), new Set(pending))
      return { source, outcome: 'updated', ...placeOf(outcome.revision), skills, ...toldOf(outcome.drift?.error) }
    }
    default:
      return outcome satisfies never
  }
}

function placeOf(revision: Revision | undefined): Pick<SyncEnd, 'ref' | 'commit'> {
  return revision === undefined ? {} : { ref: revision.ref, commit: revision.commit }
}

function toldOf(error: SyncError | undefined): Pick<SyncEnd, 'code' | 'message' | 'mend'> {
  return error === undefined ? {} : { code: error.code, message: error.message, mend: mendOf(error.code) }
}
