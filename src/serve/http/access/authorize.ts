import type { IncomingMessage } from 'node:http'
import type { Scope } from '../../principal.ts'
import type { Access } from './access.ts'
import type { Denied } from '../../access-decision.ts'
import type { HolderOf } from '../server/share-holder.ts'
import type { Site } from '../server/listener.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rate } from './rate-limit.ts'

/** How often one may ask. */
export interface RateOptions {
  readonly limits: { readonly rate?: Rate | undefined }
  /** Milliseconds that only ever go up. */
  readonly now: () => number
}

/** Undefined where there is no limit. */
export function rateOf({ limits, now }: RateOptions): RateLimit | undefined {
  return limits.rate && new RateLimit(limits.rate, now)
}

/** Whether one may ask, and then whether not too often. Whoever is denied is counted too: that costs us as much. */
export function admission(access: Access, rate: RateLimit | undefined, holderOf: HolderOf): Site['admit'] {
  if (rate === undefined) return async (request, scope) => access.decide(request, scope)
  return async (request: IncomingMessage, scope: Scope) => {
    const decision = await access.decide(request, scope)
    const principal = decision.kind === 'granted' ? decision.principal : undefined
    const waitS = rate.take(holderOf(request, principal))
    return waitS === undefined ? decision : { ...tooOften(waitS), ...(principal !== undefined && { principal }) }
  }
}

function tooOften(waitS: number): Denied {
  return { kind: 'denied', status: 429, message: 'Too many requests', headers: { 'retry-after': String(waitS) } }
}
