import { z } from 'zod'
import type { Config } from '../../../daemon/config/config.ts'
import { sourceNamed } from '../../../daemon/config/named-sources.ts'
import { defineRequest, paramsOf } from '../../../daemon/control/request.ts'
import type { LinkedParts } from '../../../daemon/control/request.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import { DISABLED_PLACES } from '../../../daemon/status/decision-text.ts'
import { MOST_REASON } from '../../../sync/model/decisions/published-recall.ts'
import { recallingHub } from '../../../sync/model/decisions/recalled-skills.ts'
import type { RecallRule } from '../../../sync/model/decisions/rules.ts'
import { isDigest } from '../../../sync/store/skills/stored-path.ts'
import type { RecalledContent, Recalls } from './recalls.ts'

export interface RecallParts extends LinkedParts {
  readonly config: Config
  readonly recalls: Recalls
}

/** `by`: the name of the log of the hub that made it; absent if it was made here. */
const RECALL = z.object({
  id: z.string(),
  at: z.string(),
  contents: z.array(z.string()).readonly(),
  reason: z.string().optional(),
  by: z.string().optional(),
  revoked: z.string().optional(),
})

/** A recall, as JSON says it. */
export type ToldRecall = z.infer<typeof RECALL>

export function toldRecall(recall: RecallRule): ToldRecall {
  const { id, at, on, reason, ended } = recall
  return { id, at, contents: on.contents, reason, by: recallingHub(recall), revoked: ended }
}

const RECALLED = z.object({
  recall: RECALL,
  isNew: z.boolean(),
  count: z.number(),
  places: DISABLED_PLACES,
})

/** A content by its digest, or by the place of a skill. */
const CONTENT = z.object({
  digest: z.string().refine(isDigest).optional(),
  source: z.string().optional(),
  path: z.string().optional(),
})

/** The end of a recall, as the daemon tells it. */
export type RecallAnswer = z.infer<typeof RECALLED>

/** Takes a content out of service at once, here and at the followers of the channels; it need not be here. */
export const recallRequest = defineRequest({
  name: 'recall',
  params: paramsOf({ ...CONTENT.shape, reason: z.string().min(1).max(MOST_REASON) }),
  answer: RECALLED,
  async run({ config, recalls, linked }: RecallParts, { reason, ...named }, { by }) {
    const end = await recalls.recall(contentNamed(named, config), reason, by)
    await linked()
    return end
  },
})

function contentNamed({ digest, source, path }: z.infer<typeof CONTENT>, config: Config): RecalledContent {
  if (digest !== undefined) return { kind: 'digest', digest }
  if (source === undefined || path === undefined)
    throw new OperatorError('bad-request', 'The request names neither a digest, nor a skill')
  return { kind: 'skill', source: sourceNamed(source, config), path }
}

/** Ends the recall whose id begins with these digits. */
export const revokeRecallRequest = defineRequest({
  name: 'revoke-recall',
  params: paramsOf({ id: z.string() }),
  answer: RECALLED,
  async run({ recalls, linked }: RecallParts, { id }, { by }) {
    const end = await recalls.revoke(id, by)
    await linked()
    return end
  },
})

const COUNTS = z.object({ obeyed: z.number(), behind: z.number(), unreachable: z.number() })
const PART = { pack: z.string().optional(), ring: z.string().optional() }
const REACH = z.object({
  recall: z.object({ id: z.string(), at: z.string(), reason: z.string().optional(), by: z.string().optional() }),
  counts: COUNTS,
  total: COUNTS,
  followers: z
    .array(
      z.object({
        state: z.enum(['obeyed', 'behind']),
        ...PART,
        principal: z.string(),
        follower: z.string(),
        size: z.number(),
        seen: z.string(),
        below: COUNTS,
      }),
    )
    .readonly(),
  unreachable: z
    .array(z.object({ kind: z.enum(['token', 'folder', 'branch']), place: z.string(), ...PART }))
    .readonly(),
  process: z.object({ id: z.string(), others: z.number() }).optional(),
})

/** The reach of a recall, as the daemon tells it. */
export type ReachAnswer = z.infer<typeof REACH>

/** Returns the report of the recall whose id begins with these digits. */
export const recallReachRequest = defineRequest({
  name: 'recall-reach',
  params: paramsOf({ id: z.string() }),
  answer: REACH,
  async run({ recalls }: RecallParts, { id }) {
    const { followers, unreachable, ...report } = recalls.reachOf(id)
    // An answer must fit into one line of the socket: the counts are whole, and no follower that is behind is left out
    // for one that obeys.
    const sorted = followers.toSorted((a, b) => Number(a.state === 'obeyed') - Number(b.state === 'obeyed'))
    return { ...report, followers: sorted.slice(0, MOST_SHOWN), unreachable: unreachable.slice(0, MOST_SHOWN) }
  },
})

/** The followers of one answer, of some 250 bytes each. */
const MOST_SHOWN = 3_000
