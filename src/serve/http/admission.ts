import type { IncomingMessage } from 'node:http'
import type { Denied } from '../access-decision.ts'
import type { Scope } from '../principal.ts'
import type { HttpAccess } from './http-access.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rate } from './rate-limit.ts'
import type { Site } from './server/listener.ts'
import type { ShareHolderOf } from './server/share-holder.ts'

/** The options of the rate limit. */
export interface RateOptions {
  readonly limits: { readonly rate?: Rate | undefined }
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Creates the rate limit; `undefined` if none is configured. */
export function rateOf({ limits, now }: RateOptions): RateLimit | undefined {
  return limits.rate && new RateLimit(limits.rate, now)
}

/** Checks access, and then the rate. Denied requests count too, because they cost as much. */
export function admission(access: HttpAccess, rate: RateLimit | undefined, holderOf: ShareHolderOf): Site['admit'] {
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
