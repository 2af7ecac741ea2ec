import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../../model/sync-error.ts'
import { credentialHeaders } from '../../http/credential-headers.ts'
import { authoritiesWith } from '../../http/http-trust.ts'
import type { FetchLimits } from '../../upstream.ts'
import type { Proxy, Way } from '../../http/host-access.ts'

/** What git is to ask over http(s), and how. */
export interface HttpAsked {
  /** As configured, and as git is given it. */
  readonly url: string
  /** Where a redirect of the same origin led to; else the same. */
  readonly base: string
  readonly way: Way
  readonly limits: Pick<FetchLimits, 'idleMs'>
}

/**
 * The environment that makes git ask over http(s) as our own reader does. What is secret stands in it and in no file: it
 * ends with git whatever becomes of us, and nobody but the same user can read it. A git before 2.31 does not know it and
 * asks nothing at all, because what allows it to stands there too.
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
    // curl would send all but one of the headers below to wherever a redirect leads.
    ['http.followRedirects', 'false'],
    // Should we be killed, git ends by itself.
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', String(Math.max(1, Math.ceil(limits.idleMs / 1000)))],
    // Else git would show a ticket of the user's to a host that asks for one.
    ['http.emptyAuth', 'false'],
    ...headers.map(([name, value]): Setting => ['http.extraHeader', `${name}: ${value}`]),
    ...(base === url ? [] : [[`url.${base}.insteadOf`, url] as const]),
    ...(proxy === undefined ? [] : proxySettings(proxy, url)),
  ]
}

function proxySettings(proxy: Proxy, url: string): Setting[] {
  return [
    ['http.proxy', withUser(proxy, url)],
    // Else git asks the proxy without a password first.
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
  // libcurl 7.88 decodes once more what git has decoded, and others do not.
  if (/%[0-9a-f]{2}/i.test(text)) {
    const message = `${what}: the git program cannot be given a user name or a password that holds a percent sign before two hexadecimal digits`
    throw new SyncError('unsupported', message)
  }
  const [user = '', ...password] = text.split(':')
  // With an empty password too: without the colon git would ask for one.
  const authority = `${encodeURIComponent(user)}:${encodeURIComponent(password.join(':'))}@`
  return address.replace('://', `://${authority}`)
}

/** Certificates are no secret. git takes those of the file in place of the system's, so it has both. */
async function trustSettings(folder: string, { route: { ca } }: Way): Promise<Setting[]> {
  if (ca === undefined) return []
  const file = join(folder, 'authorities.pem')
  await writeFile(file, (await authoritiesWith(ca)).join('\n'))
  return [
    ['http.sslCAInfo', file],
    ['http.proxySSLCAInfo', file],
  ]
}
