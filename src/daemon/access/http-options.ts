import type { Clock } from '../../base/async/clock.ts'
import { threadMs } from '../../base/async/thread-time.ts'
import { isLoopback, isLoopbackUrl } from '../../base/host-name.ts'
import type { OAuthOptions } from '../../serve/http/protected-resource.ts'
import type { SharedPageSessions } from '../../serve/page/http/page-sessions.ts'
import type { PageHost } from '../../serve/page/page-data.ts'
import type { FeatureRoutes, HttpOptions } from '../../serve/site/server.ts'
import type { Config, ListenAddress } from '../config/config.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { portFix, portHolderOf, portHolderText } from './port-holder.ts'
import type { Tokens } from './tokens.ts'

/** Milliseconds between two keep-alive comments on an idle stream. */
const KEEP_ALIVE_MS = 15_000

interface EdgeParts {
  readonly listen: ListenAddress
  readonly tokens: Tokens
  /** The authorization server whose tokens are accepted. */
  readonly oauth: OAuthOptions | undefined
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The daemon's state for its web page. */
  readonly host: Omit<PageHost, 'isTokenRequired'>
  readonly onError: HttpOptions['onError']
  /** The routes of features. */
  readonly features: readonly FeatureRoutes[]
  /** The page sessions that other processes of the hub know too. */
  readonly pageSessions?: SharedPageSessions | undefined
}

/** The HTTP options that follow from the configuration. */
export function httpOptionsOf(config: Config, parts: EdgeParts): HttpOptions {
  const { listen, tokens, oauth, clock, host, onError, features, pageSessions } = parts
  const required = isTokenRequired(config, listen)
  const { page, ...web } = config.serve.web
  const { publicUrl, allowedHosts, allowedOrigins, trustedProxies } = config.serve.http
  const { sessions, sessionIdleMs, ...limits } = config.limits.http
  return {
    ...listen,
    limits: { ...limits, keepAliveMs: KEEP_ALIVE_MS, sessions: { sessions, idleMs: sessionIdleMs } },
    trustedProxies,
    names: { hosts: allowedHosts, publicUrl, origins: allowedOrigins },
    access: {
      authenticate: async (token) => tokens.principalOf(token),
      isGone: (principalId) => tokens.isGone(principalId),
      isTokenRequired: required,
    },
    web: { ...web, page: page && { ...page, host: { ...host, isTokenRequired: required } } },
    features,
    pageSessions,
    ...(oauth !== undefined && { oauth }),
    now: () => clock.monotonicMs(),
    spentMs: threadMs,
    onError,
  }
}

/** True if clients need a token. */
export function isTokenRequired(config: Config, listen: ListenAddress): boolean {
  return config.serve.oauth !== undefined || reachedFromElsewhereBy(config, listen) !== undefined
}

/**
 * The setting that makes the daemon reachable from other machines: its address, or a name that a proxy passes on.
 * `undefined` if nothing does.
 */
export function reachedFromElsewhereBy({ serve: { http } }: Config, { host }: ListenAddress): string | undefined {
  if (!isLoopback(host)) return `the address "${host}"`
  if (http.publicUrl !== undefined && !isLoopbackUrl(new URL(http.publicUrl))) return 'serve.http.public_url'
  const urls = http.allowedHosts.map((name) => URL.parse(`http://${name}`))
  return urls.every((url) => url !== null && isLoopbackUrl(url)) ? undefined : 'serve.http.allowed_hosts'
}

/** The failure to listen at an address, with what to do. `key` names the port. */
export async function listenError({ host, port }: ListenAddress, error: unknown, key: string): Promise<unknown> {
  if (!(error instanceof Error) || !('code' in error)) return error
  const holder = error.code === 'EADDRINUSE' ? await portHolderOf(port) : undefined
  const why = error.code === 'EADDRINUSE' ? `${portHolderText(holder)} listens there` : error.message
  const options = { cause: error, ...(error.code === 'EADDRINUSE' && { fix: portFix(holder, key) }) }
  return new OperatorError('cannot-listen', `Cannot listen on ${host}:${port}: ${why}`, options)
}
