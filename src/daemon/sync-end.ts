import { z } from 'zod'
import type { Outcome } from '../sync/model/outcome.ts'
import { tallyOf } from '../sync/model/snapshot.ts'
import { mendOf } from '../sync/model/sync-error.ts'

const TALLY = z.object({
  seen: z.number(),
  clean: z.number(),
  noted: z.number(),
  tools: z.number(),
  withheld: z.number(),
})

/** How the pull of one source ended, as plain data: a line of `skillsyncd sync`. */
export const SYNC_END = z.object({
  source: z.string(),
  outcome: z.enum(['unchanged', 'updated', 'failed']),
  ref: z.string().optional(),
  commit: z.string().optional(),
  skills: TALLY.optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  mend: z.string().optional(),
})

export type SyncEnd = z.infer<typeof SYNC_END>

export function syncEndOf(source: string, outcome: Outcome): SyncEnd {
  switch (outcome.kind) {
    case 'failed': {
      const { code, message } = outcome.error
      return { source, outcome: 'failed', code, message, mend: mendOf(code) }
    }
    case 'unchanged':
      return { source, outcome: 'unchanged', ref: outcome.revision.ref, commit: outcome.revision.commit }
    case 'updated': {
      const { ref, commit } = outcome.revision
      return { source, outcome: 'updated', ref, commit, skills: tallyOf(outcome.snapshot.skills) }
    }
  }
}
