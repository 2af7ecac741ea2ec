import { isObject } from '../../../base/json-object.ts'
import { isSshAddress } from '../schema/address-faults.ts'
import { hasMatch } from './auth-rules.ts'
import { keyText } from './config-error.ts'
import type { Fault, KeyPath } from './config-error.ts'
import { withDefaults } from './defaults.ts'

/** Finds the faults of one source: its kind, and keys that belong to another kind. */
export function sourceFaults(source: unknown, path: KeyPath): Fault[] {
  if (!isObject(source)) return []
  const faults: Fault[] = []
  const places = ['url', 'path', 'mcp', 'follow'].filter((key) => Object.hasOwn(source, key))
  if (places.length === 0)
    faults.push({
      path,
      message:
        'needs `url`, the address of a git repository, `path`, a folder, `mcp`, a server, or `follow`, a channel',
    })
  if (places.length > 1) faults.push({ path, message: `has ${inWords(places)}; keep one of them` })
  const isServer = Object.hasOwn(source, 'mcp')
  if (isServer && source['unverifiable'] === 'serve' && source['approval'] !== 'none')
    faults.push({ path: [...path, 'unverifiable'], message: UNAPPROVABLE })
  if (source['on_broken'] === 'keep' && !Object.hasOwn(source, 'url'))
    faults.push({
      path: [...path, 'on_broken'],
      message: 'is "keep", and only a repository has the commit of an earlier version',
    })
  const strays = places.length === 1 ? strayFaults(source, path) : []
  return [...faults, ...strays, ...hostlessFaults(source, path)]
}

const UNAPPROVABLE =
  'is "serve", which requires `approval: none`: an approval is for certain files, and these may differ at each read'

/** Reports keys that belong to another kind of source. */
function strayFaults(source: Readonly<Record<string, unknown>>, path: KeyPath): Fault[] {
  const strays = STRAYS.filter(([kinds]) => !kinds.some((place) => Object.hasOwn(source, place)))
  return strays.flatMap(([kinds, why, keys]) => {
    const message = `goes with ${inWords(kinds)} alone: ${why}`
    const strayed = keys.filter((key) => Object.hasOwn(source, key))
    return strayed.map((key): Fault => ({ path: [...path, key], at: 'key', message }))
  })
}

/** The kinds of sources, and the reason why they alone have the keys. */
const STRAYS: readonly (readonly [kinds: readonly string[], why: string, keys: readonly string[]])[] = [
  [['url'], 'only a repository has branches and tags', ['ref']],
  [['url'], 'only a repository has signed commits', ['signed']],
  [['url'], 'a folder is watched, and a server is listened to', ['webhook']],
  [['url'], 'it chooses the git client', ['backend']],
  [['url'], 'only a repository can lose commits', ['fallback']],
  [['url', 'mcp', 'follow'], 'a folder has no host', ['auth', 'ca', 'proxy']],
  [['path'], 'a repository and a server have no folders of this disk beside them', ['links']],
  [['url', 'path'], 'a server and a channel have no folders', ['root']],
  [['url', 'path'], 'a server and a channel have no git LFS pointers', ['lfs']],
  [['url', 'path'], 'a server and a channel have only skills', ['docs', 'marketplace']],
  [
    ['url', 'path', 'mcp'],
    'the hub of a channel has decided it',
    ['unlisted', 'names', 'nested', 'on_broken', 'contract', 'hidden_unicode'],
  ],
  [
    ['mcp'],
    'it is about skills of another server',
    ['approval', 'fetch', 'folders', 'budgets', 'unverifiable', 'packed', 'uris'],
  ],
]

/** A program is not reached over a network, and receives no credential. */
export function hostlessFaults(source: Readonly<Record<string, unknown>>, path: KeyPath): Fault[] {
  const message = whyHostless(source)
  if (message === undefined) return []
  return ['auth', 'ca', 'proxy']
    .filter((key) => Object.hasOwn(source, key))
    .map((key): Fault => ({ path: [...path, key], at: 'key', message }))
}

function whyHostless({ mcp, follow }: Readonly<Record<string, unknown>>): string | undefined {
  if (isObject(mcp)) return 'is only for the address of a server: a program gets what it needs in its `env`'
  if (isObject(follow) && Object.hasOwn(follow, 'path'))
    return 'is only for the address of a channel: a folder has no host'
  return undefined
}

/** `resource://docs/` names no source, so only one source can own it. A disabled source owns nothing. */
export function docsOwners(sources: readonly unknown[]): Fault[] {
  const isOwner = (source: unknown): boolean =>
    isObject(source) && Object.hasOwn(source, 'docs') && source['enabled'] !== false
  const owners = sources.flatMap((source, index) => (isOwner(source) ? [index] : []))
  const [first = 0, ...others] = owners
  const message = `cannot own resource://docs/ beside ${keyText(['sources', first, 'docs'])}; keep one of them`
  return others.map((index) => ({ path: ['sources', index, 'docs'], at: 'key', message }))
}

/**
 * Checks the preconditions of a fallback: the source's skills are locked, and the fallback is an enabled MCP server.
 */
export function fallbackFaults(sources: readonly unknown[]): Fault[] {
  const servers = new Set(sources.filter(isServer).map(({ id }) => id))
  return sources.flatMap((source, index): Fault[] => {
    if (!isObject(source) || source['fallback'] === undefined || !Object.hasOwn(source, 'url')) return []
    const path = ['sources', index, 'fallback']
    if (!servers.has(source['fallback']))
      return [{ path, message: 'must be the id of a source with `mcp` that is not disabled' }]
    if (source['update'] !== 'locked')
      return [{ path, at: 'key', message: 'requires `update: locked`: only locked content can be recognized' }]
    return []
  })
}

function isServer(source: unknown): source is Readonly<Record<string, unknown>> {
  return isObject(source) && Object.hasOwn(source, 'mcp') && source['enabled'] !== false
}

/** Finds addresses that their `backend` cannot serve, whether the source or `defaults` sets it. */
export function backendFaults(sources: readonly unknown[], defaults: readonly unknown[]): Fault[] {
  const usable = defaults.filter(hasMatch)
  return sources.flatMap((source, index): Fault[] => {
    const url = isObject(source) ? source['url'] : undefined
    if (!isObject(source) || typeof url !== 'string') return []
    const { backend, proxy }: Said = withDefaults(source, url, usable)
    const misuse = misuseOf(backend, url, proxy)
    if (misuse === undefined) return []
    const path = ['sources', index]
    if (Object.hasOwn(source, 'backend')) return [{ path: [...path, 'backend'], message: misuse }]
    return [{ path: [...path, 'url'], message: `is given a \`backend\` by \`defaults\` that ${misuse}` }]
  })
}

interface Said {
  readonly backend?: unknown
  readonly proxy?: unknown
}

function misuseOf(backend: unknown, url: string, proxy: unknown): string | undefined {
  if ((backend === 'embedded' || backend === 'isomorphic') && isSshAddress(url)) {
    return `cannot be ${backend} for an ssh address, which only the git program can reach; use auto or system`
  }
  if (backend === 'system' && /^https?:/i.test(url) && isOwnHeader(proxy)) {
    return 'cannot be system beside `proxy.auth.header`: the git program sends a proxy only a user name and a password'
  }
  return undefined
}

function isOwnHeader(proxy: unknown): boolean {
  return isObject(proxy) && isObject(proxy['auth']) && Object.hasOwn(proxy['auth'], 'header')
}

function inWords(keys: readonly string[]): string {
  return keys.map((key) => `\`${key}\``).join(' and ')
}
