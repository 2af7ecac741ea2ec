import type { Agent } from 'node:https'
import type { SecureContext } from 'node:tls'

/** What connections over TLS are opened with, where certificates are trusted besides those of the system. */
export interface Trust {
  readonly context: SecureContext
  /** Keeps connections for a moment, as Node's own does. */
  readonly agent: Agent
}

/** Made once for each text: reading the system's certificates takes longer than a handshake. */
export async function trustIn(ca: string): Promise<Trust> {
  const known = TRUSTS.get(ca)
  if (known !== undefined) return known
  const [tls, { Agent }] = await Promise.all([import('node:tls'), import('node:https')])
  const context = tls.createSecureContext({ ca: await authoritiesWith(ca) })
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, secureContext: context })
  if (TRUSTS.size >= MOST_TRUSTS) TRUSTS.clear()
  TRUSTS.set(ca, { context, agent })
  return { context, agent }
}

/** All that are trusted where these are trusted too, in PEM. */
export async function authoritiesWith(ca: string): Promise<string[]> {
  const tls = await import('node:tls')
  // Before Node 22.15 a process cannot tell which certificates it trusts, so there it is Node's own list.
  const system = typeof tls.getCACertificates === 'function' ? tls.getCACertificates('default') : tls.rootCertificates
  return [...system, ca]
}

const TRUSTS = new Map<string, Trust>()
const MOST_TRUSTS = 32
const IDLE_MS = 5_000
