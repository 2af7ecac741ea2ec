import { z } from 'zod'
import { expectLaterRing } from '../../daemon/config/named-rings.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { defineRequest, paramsOf } from '../../daemon/control/request.ts'
import type { LinkedParts } from '../../daemon/control/request.ts'
import type { RingStatus } from '../../daemon/status/status.ts'
import type { RingHubConfig } from './ring-config.ts'
import type { RingPromotions } from './ring-promotions.ts'

export interface RingParts extends LinkedParts {
  readonly config: RingHubConfig
  readonly rings: RingPromotions
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
  async run({ config, rings, linked }: RingParts, { sources = [], ring, now }, { by }) {
    if (ring !== undefined) expectLaterRing(ring, config)
    const named = sources.length === 0 ? [] : sourcesNamed(sources, config)
    const promotions = await rings.promote({ sources: named, ring, isForced: now, by })
    await linked()
    return promotions.map(({ source, ring: id, from, to }) => ({
      source,
      ring: id,
      from: from?.commit,
      commit: to.commit,
    }))
  },
})
