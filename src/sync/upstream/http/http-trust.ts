import type { Agent } from 'node:https'
import type { SecureContext } from 'node:tls'

/** The TLS settings for certificates that are trusted in addition to those of the system. */
export interface TlsTrust {
  readonly context: SecureContext
  /** Keeps idle connections for a moment, as Node's own agent does. */
  readonly agent: Agent
}

/**
 * Returns the settings, cached by the text of the certificates: reading the system's certificates takes longer than a
 * handshake.
 */
export async function trustIn(ca: string): Promise<TlsTrust> {
  const known = TRUSTS.get(ca)
  if (known !== undefined) return known
  const [tls, { Agent }] = await Promise.all([import('node:tls'), import('node:https')])
  const context = tls.createSecureContext({ ca: await authoritiesWith(ca) })
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, secureContext: context })
  if (TRUSTS.size >= MOST_TRUSTS) TRUSTS.clear()
  TRUSTS.set(ca, { context, agent })
  return { context, agent }
}

/** Returns all trusted certificates including these, in PEM. */
export async function authoritiesWith(ca: string): Promise<string[]> {
  const tls = await import('node:tls')
  return [...tls.getCACertificates('default'), ca]
}

const TRUSTS = new Map<string, TlsTrust>()
const MOST_TRUSTS = 32
const IDLE_MS = 5_000
