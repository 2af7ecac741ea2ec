import { isLoopbackUrl } from '../../../base/host-name.ts'
import { isObject } from '../../../base/json-object.ts'
import { formsIn } from '../forms.ts'
import { isSshAddress } from '../schema/address-faults.ts'
import { keyText } from './config-error.ts'
import type { Fault, KeyPath } from './config-error.ts'
import { normalizeUrl, withDefaults } from './defaults.ts'
import { valueAt } from './entries.ts'

/** Finds the faults in how sources and publications are accessed, including the settings from `defaults`. */
export function accessFaults(entries: readonly (readonly [unknown, KeyPath])[], defaults: readonly unknown[]): Fault[] {
  const usable = defaults.filter(hasMatch)
  return [
    ...entries.flatMap(([entry, path]) => [...wayFaults(entry, path), ...misuseFaults(entry, usable, path)]),
    ...defaults.flatMap((entry, index) => [
      ...wayFaults(entry, ['defaults', index]),
      ...matchFaults(entry, defaults.slice(0, index), ['defaults', index]),
    ]),
  ]
}

type Entry = Readonly<Record<string, unknown>>

/** True if the entry names the addresses that it applies to. */
export function hasMatch(entry: unknown): entry is Entry & { readonly match: string } {
  return isObject(entry) && typeof entry['match'] === 'string'
}

function matchFaults(entry: unknown, earlier: readonly unknown[], path: KeyPath): Fault[] {
  if (!hasMatch(entry)) return []
  const same = earlier.findIndex((other) => hasMatch(other) && normalizeUrl(other.match) === normalizeUrl(entry.match))
  if (same === -1) return []
  const message = `means the same addresses as ${keyText(['defaults', same])}; make one of the two`
  return [{ path: [...path, 'match'], message }]
}

/** Checks `auth` and `proxy` on their own. */
function wayFaults(entry: unknown, path: KeyPath): Fault[] {
  if (!isObject(entry)) return []
  const { auth, proxy } = entry
  const faults = authFaults(auth, [...path, 'auth'])
  if (!isObject(proxy) || !isObject(proxy['auth'])) return faults
  const ofProxy: KeyPath = [...path, 'proxy', 'auth', 'header']
  return [...faults, ...headerFaults(proxy['auth']['header'], ofProxy, OF_THE_CONNECTION)]
}

function authFaults(auth: unknown, path: KeyPath): Fault[] {
  if (!isObject(auth)) return []
  const { github_app: app, header } = auth
  const faults = headerFaults(header, [...path, 'header'], [...OF_THE_CONNECTION, ...OF_PROXIES])
  const api = isObject(app) ? app['api_url'] : undefined
  const message = typeof api === 'string' ? apiMisuse(api) : undefined
  return message === undefined ? faults : [...faults, { path: [...path, 'github_app', 'api_url'], message }]
}

function apiMisuse(api: string): string | undefined {
  const url = URL.parse(api)
  if (url === null) return undefined
  if (url.search !== '' || url.hash !== '') return 'must not contain a query or a fragment'
  return isOpen(url) ? IN_CLEAR : undefined
}

const IN_CLEAR = 'would cross the network in clear over http:; use https'

function headerFaults(header: unknown, path: KeyPath, reserved: readonly string[]): Fault[] {
  const name = isObject(header) ? header['name'] : undefined
  if (typeof name !== 'string' || !reserved.includes(name.toLowerCase())) return []
  const message = 'is a header that HTTP or git needs for itself; no credential can be sent in it'
  return [{ path: [...path, 'name'], message }]
}

/** Headers that describe the connection or the message (RFC 9110, 7.6.1), and those that git sends. */
const OF_THE_CONNECTION = [
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'git-protocol',
  'host',
  'http2-settings',
  'keep-alive',
  'location',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]

const OF_PROXIES = ['proxy-authenticate', 'proxy-authorization']

/** Reports a credential next to an address that must not have one, whether the source or `defaults` sets it. */
function misuseFaults(source: unknown, defaults: readonly (Entry & { readonly match: string })[], path: KeyPath) {
  const key = ['mcp', 'git'].find((key) => isObject(source) && typeof source[key] === 'string') ?? 'url'
  const followed = isObject(source) && isObject(source['follow']) ? source['follow']['url'] : undefined
  const url = isObject(source) ? (source[key] ?? followed) : undefined
  if (!isObject(source) || typeof url !== 'string') return []
  const merged: Entry = withDefaults(source, url, defaults)
  const misuse = merged['auth'] === undefined ? undefined : authMisuse(url, merged['auth'], merged['proxy'])
  if (misuse === undefined) return []
  if (Object.hasOwn(source, 'auth')) return [{ path: [...path, 'auth'], at: 'key', message: misuse } satisfies Fault]
  return [{ path: [...path, key], message: `is given an \`auth\` by \`defaults\`, which ${misuse}` } satisfies Fault]
}

/** The reason why a credential must not be used with this address; `undefined` if it may. */
export function authMisuse(address: unknown, auth: unknown, proxy: unknown): string | undefined {
  if (typeof address !== 'string') return undefined
  const isForSsh = isObject(auth) && Object.hasOwn(auth, 'ssh')
  if (isSshAddress(address))
    return isForSsh ? undefined : 'must be `ssh` for an address of ssh; a token has no use there'
  const url = URL.parse(address)
  if (url === null) return undefined
  if (isForSsh) return '`ssh` has no use with this address; it goes with ssh://… and git@host:path'
  if (url.protocol === 'file:') return 'is not used with a file: address; remove it'
  if (isOpen(url)) return IN_CLEAR
  const between = isObject(proxy) && typeof proxy['url'] === 'string' ? URL.parse(proxy['url']) : null
  return url.protocol === 'http:' && between !== null && !isLoopbackUrl(between) ? IN_CLEAR : undefined
}

function isOpen(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopbackUrl(url)
}

/** Finds the faults in `serve.oauth`. */
export function oauthFaults(value: unknown): Fault[] {
  const serve = valueAt(value, 'serve')
  if (!isObject(serve) || !isObject(serve['oauth'])) return []
  return [...issuerFaults(serve['oauth']['issuer']), ...pageClientFaults(serve, serve['oauth'])]
}

/** An attacker that could change the keys of an issuer in transit could forge tokens. */
function issuerFaults(issuer: unknown): Fault[] {
  const url = typeof issuer === 'string' ? URL.parse(issuer) : null
  const path = ['serve', 'oauth', 'issuer']
  if (url !== null && isOpen(url)) return [{ path, message: 'must be an https address, unless it is on this machine' }]
  if (url !== null && (url.search !== '' || url.hash !== '')) {
    return [{ path, message: 'must not have a query or a fragment' }]
  }
  return []
}

/** The issuer sends the browser back to an address of the page, which must be known and must not be read on its way. */
function pageClientFaults(serve: Entry, oauth: Entry): Fault[] {
  if (!Object.hasOwn(oauth, 'page')) return []
  const path = ['serve', 'oauth', 'page']
  const { http, public: open } = serve
  if (Array.isArray(serve['forms']) && !formsIn(serve['forms']).has('page'))
    return [{ path, at: 'key', message: 'is for the page, which `serve.forms` leaves out; change one of the two' }]
  if (Array.isArray(open) && open.includes('page'))
    return [{ path, at: 'key', message: 'is for the page, which `serve.public` shows to all; remove one of the two' }]
  const publicUrl = isObject(http) ? http['public_url'] : undefined
  if (publicUrl === undefined)
    return [{ path, at: 'key', message: 'needs `serve.http.public_url`, below which the issuer sends people back' }]
  const url = typeof publicUrl === 'string' ? URL.parse(publicUrl) : null
  if (url === null) return []
  const at = ['serve', 'http', 'public_url']
  if (isOpen(url))
    return [{ path: at, message: 'must be an https address beside `serve.oauth.page`, unless it is on this machine' }]
  if (url.search === '' && url.hash === '') return []
  return [{ path: at, message: 'must not have a query or a fragment beside `serve.oauth.page`' }]
}
