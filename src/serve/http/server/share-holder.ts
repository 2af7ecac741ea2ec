import type { IncomingMessage } from 'node:http'
import { holderOf } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Principal } from '../../principal.ts'
import { networkOf } from './trusted-proxies.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Returns the holder that a request counts for. */
export type ShareHolderOf = (request: IncomingMessage, principal: Principal | undefined) => ShareHolder

/** Returns the holder of each request. Trusted proxies may name the client. */
export function holdersBehind(proxies: TrustedProxies): ShareHolderOf {
  return (request, principal) => holderOf(principal?.id, networkOf(proxies.clientOf(request)))
}
