import { z } from 'zod'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { defineRequest, NOTHING, paramsOf, paramsOfSource } from '../../daemon/control/request.ts'
import type { LinkedParts } from '../../daemon/control/request.ts'
import type { OperatorDecisions } from '../../daemon/pull/operator-decisions.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { RingHubConfig } from './ring-config.ts'
import type { RingPromotions } from './ring-promotions.ts'
import type { RingStatus } from './ring-status.ts'

export interface RingParts extends LinkedParts {
  readonly config: RingHubConfig
  readonly rings: RingPromotions
  readonly decisions: OperatorDecisions
}

/** Returns the rings, with what each serves that the first does not. */
export const ringsRequest = defineRequest({
  name: 'rings',
  params: paramsOf({}),
  // A daemon of this version has the form of this version; `undefined` from any other.
  answer: z.custom<readonly RingStatus[]>(Array.isArray).optional().catch(undefined),
  run: async ({ rings }: RingParts) => rings.status,
})

/** Has rings take now what the rings before them serve. Without sources: of all. */
export const promoteRequest = defineRequest({
  name: 'promote',
  isForLeader: true,
  params: paramsOf({
    sources: z.array(z.string()).readonly().optional(),
    ring: z.string().optional(),
    now: z.boolean(),
  }),
  answer: z.array(z.object({ source: z.string(), ring: z.string(), from: z.string().optional(), commit: z.string() })),
  async run({ config, rings, linked }: RingParts, { sources = [], ring, now }) {
    if (ring !== undefined) expectLaterRing(ring, config)
    const named = sources.length === 0 ? [] : sourcesNamed(sources, config)
    const promotions = await rings.promote({ sources: named, ring, isForced: now })
    await linked()
    return promotions.map(({ source, ring: id, from, to }) => ({
      source,
      ring: id,
      from: from?.commit,
      commit: to.commit,
    }))
  },
})

/** The most characters of the reason of a hold. */
export const MOST_HOLD_REASON = 500

/** Keeps a ring from taking anything of a source, or, without a reason, ends that. */
export const holdRingRequest = defineRequest({
  name: 'hold-ring',
  params: paramsOfSource({ ring: z.string(), reason: z.string().max(MOST_HOLD_REASON).optional() }),
  answer: NOTHING,
  async run({ config, decisions }: RingParts, { source, ring, reason }) {
    expectLaterRing(ring, config)
    await decisions.holdRing(source, ring, reason)
  },
})

/** The first ring takes each commit at once: nothing is promoted to it, or held from it. */
export function expectLaterRing(ring: string, { rings }: Pick<RingHubConfig, 'rings'>): void {
  expectRings({ rings })
  const later = rings.slice(1).map(({ id }) => id)
  if (later.includes(ring)) return
  throw new OperatorError(
    'bad-request',
    `"${ring}" is no ring after the first; there are ${later.join(', ')}; skillsyncd pause stops the first one`,
  )
}

/** Throws if the configuration has no rings. */
export function expectRings({ rings }: Pick<RingHubConfig, 'rings'>): void {
  if (rings.length > 0) return
  throw new OperatorError('bad-request', 'There are no rings; name some in `rings` of the configuration')
}
