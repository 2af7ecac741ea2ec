import type { HttpOptions } from '../serve/http/app.ts'
import type { OAuthOptions } from '../serve/http/protected-resource.ts'
import type { Clock } from './clock.ts'
import { isLoopback } from './config/loopback.ts'
import type { Config, ListenAddress } from './config.ts'
import type { Tokens } from './tokens.ts'

/** How often an idle stream carries a comment. */
const KEEP_ALIVE_MS = 15_000

interface EdgeParts {
  readonly listen: ListenAddress
  readonly tokens: Tokens
  /** The authorization server whose tokens are accepted. */
  readonly oauth: OAuthOptions | undefined
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly onError: (error: unknown) => void
}

/** The HTTP side that the configuration asks for. */
export function httpOptionsOf(config: Config, parts: EdgeParts): HttpOptions {
  const { listen, tokens, oauth, clock, onError } = parts
  const { publicUrl, allowedHosts, allowedOrigins, trustedProxies } = config.serve.http
  const { sessions, sessionIdleMs, ...limits } = config.limits.http
  return {
    ...listen,
    limits: { ...limits, keepAliveMs: KEEP_ALIVE_MS, sessions: { sessions, idleMs: sessionIdleMs } },
    trustedProxies,
    names: { hosts: allowedHosts, publicUrl, origins: allowedOrigins },
    access: {
      authenticate: async (token) => tokens.principalOf(token),
      isTokenRequired: isTokenRequired(config, listen),
    },
    web: config.serve.web,
    ...(oauth !== undefined && { oauth }),
    now: () => clock.monotonicMs(),
    onError,
  }
}

/**
 * Whoever is reached from other machines asks for one: by its address, or by a name that a proxy passes on. So does whoever
 * trusts an issuer of tokens.
 */
export function isTokenRequired({ serve }: Config, { host }: ListenAddress): boolean {
  if (serve.oauth !== undefined) return true
  const { publicUrl, allowedHosts } = serve.http
  const names = [...allowedHosts.map((allowed) => allowed.replace(/:\d+$/, '')), ...hostsIn(publicUrl)]
  return [host, ...names].some((name) => !isLoopback(name.replaceAll(/^\[|\]$/g, '')))
}

function hostsIn(url: string | undefined): string[] {
  return url === undefined ? [] : [new URL(url).hostname]
}
