import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import { credentialHeaders } from '../../upstream/http/credential-headers.ts'
import type { Proxy, HostAccess } from '../../upstream/http/host-access.ts'
import { authoritiesWith } from '../../upstream/http/http-trust.ts'
import type { FetchLimits } from '../../upstream/upstream.ts'

/** The parameters of a git request over http(s). */
export interface HttpAsked {
  /** The URL as configured, which git gets too. */
  readonly url: string
  /** The target of a redirect within the same origin; otherwise the URL itself. */
  readonly base: string
  readonly way: HostAccess
  readonly limits: Pick<FetchLimits, 'idleMs'>
}

/**
 * Returns the environment that makes git use http(s) as our own reader does. Secrets are in it and in no file. So they
 * vanish when git ends, even if this process is killed, and only the same user can read them. A git before 2.31 ignores
 * these variables and sends nothing, because the permission to use http(s) is in them too.
 */
export async function httpEnvironment(folder: string, asked: HttpAsked): Promise<Record<string, string>> {
  const settings = [...settingsFor(asked), ...(await trustSettings(folder, asked.way))]
  const pairs = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ])
  return {
    ...Object.fromEntries(pairs),
    GIT_CONFIG_COUNT: String(settings.length),
    GIT_TRACE_CURL: '3',
    GIT_TRACE_CURL_NO_DATA: '1',
  }
}

type Setting = readonly [key: string, value: string]

function settingsFor({ url, base, way, limits }: HttpAsked): Setting[] {
  const headers = Object.entries(credentialHeaders(way, base, url))
  const { proxy } = way.route
  return [
    [`protocol.${new URL(url).protocol.slice(0, -1)}.allow`, 'always'],
    // curl would send all but one of the headers below to any redirect target.
    ['http.followRedirects', 'false'],
    // If this process is killed, git still ends by itself.
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', String(Math.max(1, Math.ceil(limits.idleMs / 1000)))],
    // Otherwise git would send a Kerberos ticket of the user to a host that requests one.
    ['http.emptyAuth', 'false'],
    ...headers.map(([name, value]): Setting => ['http.extraHeader', `${name}: ${value}`]),
    ...(base === url ? [] : [[`url.${base}.insteadOf`, url] as const]),
    ...(proxy === undefined ? [] : proxySettings(proxy, url)),
  ]
}

function proxySettings(proxy: Proxy, url: string): Setting[] {
  return [
    ['http.proxy', withUser(proxy, url)],
    // Otherwise git first contacts the proxy without a password.
    ['http.proxyAuthMethod', 'basic'],
  ]
}

function withUser({ url: address, headers }: Proxy, url: string): string {
  if (Object.keys(headers).length === 0) return address
  const what = `Cannot reach "${url}" through the proxy "${address}"`
  const [, credentials] = /^Basic (.*)$/.exec(headers['proxy-authorization'] ?? '') ?? []
  if (credentials === undefined) {
    const message = `${what}: the git program sends a proxy a user name and a password, and no other header`
    throw new SyncError('unsupported', message)
  }
  const text = Buffer.from(credentials, 'base64').toString('utf8')
  // libcurl 7.88 decodes the value again after git has decoded it; other versions do not.
  if (/%[0-9a-f]{2}/i.test(text)) {
    const message = `${what}: the git program cannot be given a user name or a password that holds a percent sign before two hexadecimal digits`
    throw new SyncError('unsupported', message)
  }
  const [user = '', ...password] = text.split(':')
  // The colon stays even without a password; otherwise git would prompt for one.
  const authority = `${encodeURIComponent(user)}:${encodeURIComponent(password.join(':'))}@`
  return address.replace('://', `://${authority}`)
}

/** Writes the CA file, which holds no secret. git uses this file instead of the system's CAs, so it contains both. */
async function trustSettings(folder: string, { route: { ca } }: HostAccess): Promise<Setting[]> {
  if (ca === undefined) return []
  const file = join(folder, 'authorities.pem')
  await writeFile(file, (await authoritiesWith(ca)).join('\n'))
  return [
    ['http.sslCAInfo', file],
    ['http.proxySSLCAInfo', file],
  ]
}
