import { z } from 'zod'
import { isTime } from '../../../base/canonical-json.ts'
import { isObjectId, type ObjectId } from '../revision.ts'
import { isSourceId, type SourceId } from '../source-id.ts'

/** ISO 8601, UTC. */
export const DECIDED_AT = z.string().refine(isTime)
export const DECIDED_SOURCE = z.custom<SourceId>((value) => typeof value === 'string' && isSourceId(value))
export const DECIDED_COMMIT = z.custom<ObjectId>((value) => typeof value === 'string' && isObjectId(value))

/** The party that decides, and the time. */
export const DECIDER = {
  at: DECIDED_AT,
  /** `hub`: a hub that is followed; in the history, its decision was obeyed at this time here. */
  by: z.enum(['person', 'scan', 'hub']),
  /** The user who decided, as the client says, or the name of the hub. `undefined` if it is not known. */
  who: z.string().optional(),
}

/** The form of a decision in the history. */
export const DECIDED = z.object({
  ...DECIDER,
  /** `add` and `remove`: of a skill of another server, by its URI. */
  decision: z.enum([
    'hold',
    'release',
    'approve',
    'reject',
    'rollback',
    'promote',
    'disable',
    'enable',
    'add',
    'remove',
  ]),
  source: DECIDED_SOURCE.optional(),
  ring: z.string().optional(),
  /** The path of a skill, its URI at another server, or the digest of a content. */
  skill: z.string().optional(),
  commit: z
    .string()
    .refine((id): boolean => isObjectId(id))
    .optional(),
  /** True if the followers of this hub follow it. */
  forFollowers: z.literal(true).optional(),
  reason: z.string().optional(),
})

/** One decision of the history. */
export type Decided = Readonly<z.infer<typeof DECIDED>>

export type Decider = Pick<Decided, 'at' | 'by' | 'who'>

/** Returns the decider for a person who decides now. */
export function byPerson(who: string | undefined, now: Date): Decider {
  return { at: now.toISOString(), by: 'person', who }
}

/**
 * Returns the history with one more decision: what was decided in 90 days, and of that the latest thousand of people, and
 * the latest hundred of scans and of hubs, which can decide about any number of skills at once.
 */
export function withDecided(history: readonly Decided[], decided: Decided): readonly Decided[] {
  const since = Date.parse(decided.at) - KEPT_MS
  const alike = history.filter(({ by }) => by === decided.by)
  const oldest = alike.length < (decided.by === 'person' ? MOST_OF_PEOPLE : MOST_OF_OTHERS) ? undefined : alike[0]
  return [...history.filter((one) => one !== oldest && Date.parse(one.at) >= since), decided]
}

const KEPT_MS = 90 * 86_400_000
const MOST_OF_PEOPLE = 1_000
const MOST_OF_OTHERS = 100
