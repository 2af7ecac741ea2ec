import { matcher } from '../../base/globs.ts'
import { isObject } from '../../base/json-object.ts'
import { isServedPluginName, isReservedName, MOST_NAME } from '../../serve/marketplace/plugin-name.ts'
import { hasMatch, accessFaults, authMisuse, oauthFaults, timeFaults } from './auth-rules.ts'
import type { Fault, KeyPath } from './config-error.ts'
import { keyText, looksLikeSecret } from './config-error.ts'
import { normal, withDefaults } from './defaults.ts'
import { ringFaults } from './rings.ts'
import { isSshAddress } from './scalars.ts'
import { laterFaults } from './unsupported-keys.ts'

/**
 * Finds faults between keys. It works on the plain value, so that it finds them in the same pass even if single keys
 * are invalid.
 */
export function ruleFaults(value: unknown): Fault[] {
  const sources = entriesOf(value, 'sources')
  return [
    ...originFaults(value),
    ...duplicateIds(sources, 'sources'),
    ...duplicateIds(entriesOf(value, 'packs'), 'packs'),
    ...lockFaults(value, sources),
    ...duplicateIds(entriesOf(value, 'rings'), 'rings'),
    ...ringFaults(value),
    ...docsOwners(sources),
    ...sources.flatMap((source, index) => sourceFaults(source, ['sources', index])),
    ...fallbackFaults(sources),
    ...pluginFaults(value),
    ...addressFaults(value),
    ...oauthFaults(value),
    ...marketplaceFaults(value),
    ...publicationFaults(value),
    ...gateFaults(isObject(value) ? value['gate'] : undefined),
    ...accessFaults(reachedIn(value), entriesOf(value, 'defaults')),
    ...backendFaults(sources, entriesOf(value, 'defaults')),
    ...lockBackendFaults(value),
    ...inlineSecrets(value, []),
    ...laterFaults(value),
  ]
}

/** A configuration has sources of its own, or those of a hub. */
function originFaults(value: unknown): Fault[] {
  if (!isObject(value)) return []
  const { follow, sources } = value
  if (follow === undefined && sources === undefined)
    return [{ path: ['sources'], message: 'is missing: it names the origins of skills; or `follow` names a hub' }]
  if (!isObject(follow)) return []
  const path = ['follow']
  const both =
    sources === undefined
      ? []
      : [
          {
            path,
            at: 'key' as const,
            message: 'is used together with `sources`; give the channel an entry of its own there',
          },
        ]
  return [...both, ...timeFaults(follow, path), ...hostlessFaults({ ...follow, follow }, path)]
}

/** The repository of the lock is named in webhooks, the log and `doctor` as sources are. */
function lockFaults(value: unknown, sources: readonly unknown[]): Fault[] {
  if (lockOriginIn(value) === undefined) return []
  return sources.flatMap((source, index): Fault[] => {
    if (!isObject(source) || source['id'] !== 'skills-lock') return []
    return [{ path: ['sources', index, 'id'], message: 'is the name of the repository of `lock`; take another one' }]
  })
}

/** The repository of the lock, as an entry with a host; `undefined` if there is none. */
function lockOriginIn(value: unknown): object | undefined {
  const lock = isObject(value) ? value['lock'] : undefined
  const from = isObject(lock) ? lock['from'] : undefined
  return isObject(from) ? { ...from, url: from['git'] } : undefined
}

/** The entries that name a host, with their paths. */
function reachedIn(value: unknown): readonly (readonly [unknown, KeyPath])[] {
  const lists = ['sources', 'publish'].flatMap((key) =>
    entriesOf(value, key).map((entry, index) => [entry, [key, index]] as const),
  )
  const single = [[lockOriginIn(value), ['lock', 'from']] as const]
  return isObject(value) ? [...lists, ...single, [value['follow'], ['follow']]] : lists
}

function entriesOf(value: unknown, key: string): readonly unknown[] {
  const list = isObject(value) ? value[key] : undefined
  return Array.isArray(list) ? list : []
}

function duplicateIds(entries: readonly unknown[], key: string): Fault[] {
  const first = new Map<string, number>()
  return entries.flatMap((entry, index): Fault[] => {
    const id = isObject(entry) ? entry['id'] : undefined
    if (typeof id !== 'string') return []
    const earlier = first.get(id)
    if (earlier !== undefined) {
      return [{ path: [key, index, 'id'], message: `is also the id of ${keyText([key, earlier])}; ids must differ` }]
    }
    first.set(id, index)
    return []
  })
}

/** `resource://docs/` names no source, so only one source can own it. A disabled source owns nothing. */
function docsOwners(sources: readonly unknown[]): Fault[] {
  const isOwner = (source: unknown): boolean =>
    isObject(source) && Object.hasOwn(source, 'docs') && source['enabled'] !== false
  const owners = sources.flatMap((source, index) => (isOwner(source) ? [index] : []))
  const [first = 0, ...others] = owners
  const message = `cannot own resource://docs/ beside ${keyText(['sources', first, 'docs'])}; keep one of them`
  return others.map((index) => ({ path: ['sources', index, 'docs'], at: 'key', message }))
}

function sourceFaults(source: unknown, path: KeyPath): Fault[] {
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
  if (source['strict'] === true && source['on_broken'] === 'keep')
    faults.push({ path: [...path, 'on_broken'], message: 'is "keep" beside `strict: true`, which refuses the commit' })
  const strays = places.length === 1 ? strayFaults(source, path) : []
  return [...faults, ...timeFaults(source, path), ...strays, ...hostlessFaults(source, path)]
}

const UNAPPROVABLE =
  'is "serve", which requires `approval: none`: an approval is for certain files, and these may differ at each read'

/** Reports keys that belong to another kind of source. */
function strayFaults(source: Readonly<Record<string, unknown>>, path: KeyPath): Fault[] {
  const strays = STRAYS.filter(({ goesWith }) => !goesWith.some((place) => Object.hasOwn(source, place)))
  return strays.flatMap(({ goesWith, keys }) =>
    Object.entries(keys)
      .filter(([key]) => Object.hasOwn(source, key))
      .map(([key, why]): Fault => ({
        path: [...path, key],
        at: 'key',
        message: `goes with ${inWords(goesWith)} alone: ${why}`,
      })),
  )
}

interface Stray {
  readonly goesWith: readonly string[]
  readonly keys: Readonly<Record<string, string>>
}

const OF_HUB = 'the hub of a channel has decided it'

const STRAYS: readonly Stray[] = [
  {
    goesWith: ['url'],
    keys: {
      ref: 'only a repository has branches and tags',
      signed: 'only a repository has signed commits',
      webhook: 'a folder is watched, and a server is listened to',
      backend: 'it chooses the git client',
      fallback: 'only a repository can lose commits',
      on_broken: 'only a repository has the commit of an earlier version',
    },
  },
  {
    goesWith: ['url', 'mcp', 'follow'],
    keys: {
      auth: 'a folder has no host',
      ca: 'a folder has no host',
      proxy: 'a folder has no host',
    },
  },
  {
    goesWith: ['path'],
    keys: { links: 'a repository and a server have no folders of this disk beside them' },
  },
  {
    goesWith: ['url', 'path'],
    keys: {
      root: 'a server and a channel have no folders',
      lfs: 'a server and a channel have no git LFS pointers',
      docs: 'a server and a channel have only skills',
      marketplace: 'a server and a channel have only skills',
    },
  },
  {
    goesWith: ['url', 'path', 'mcp'],
    keys: {
      unlisted: OF_HUB,
      names: OF_HUB,
      nested: OF_HUB,
      strict: OF_HUB,
      contract: OF_HUB,
      policy: OF_HUB,
    },
  },
  {
    goesWith: ['mcp'],
    keys: {
      approval: 'it is about skills of another server',
      fetch: 'it is about skills of another server',
      folders: 'it is about skills of another server',
      budgets: 'it is about skills of another server',
      unverifiable: 'it is about skills of another server',
      packed: 'it is about skills of another server',
      uris: 'it is about skills of another server',
    },
  },
]

/** A program is not reached over a network, and receives no credential. */
function hostlessFaults(source: Readonly<Record<string, unknown>>, path: KeyPath): Fault[] {
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

function gateFaults(gate: unknown): Fault[] {
  if (!isObject(gate)) return []
  const strangers = Object.hasOwn(gate, 'url') ? ['args', 'env', 'sarif', ...OF_SCANNERS] : ['auth']
  const misplaced = strangers
    .filter((key) => Object.hasOwn(gate, key))
    .map((key): Fault => ({
      path: ['gate', key],
      at: 'key',
      message: `goes with \`${key === 'auth' ? 'url' : 'command'}\` alone`,
    }))
  const isScanner = Object.hasOwn(gate, 'scanner') || Object.hasOwn(gate, 'sarif') || Object.hasOwn(gate, 'url')
  const unscanned = OF_SCANNERS.filter((key) => !isScanner && Object.hasOwn(gate, key)).map((key): Fault => ({
    path: ['gate', key],
    at: 'key',
    message: 'goes with `scanner` or `sarif` alone',
  }))
  const faults = [...misplaced, ...unscanned]
  const misuse = Object.hasOwn(gate, 'auth') ? authMisuse(gate['url'], gate['auth'], undefined) : undefined
  return misuse === undefined ? faults : [...faults, { path: ['gate', 'auth'], at: 'key', message: misuse }]
}

/** The keys of a gate that only a scanner has. */
const OF_SCANNERS = ['rules', 'version_args', 'rescan'] as const

/** Reports two listeners at the same address. The defaults repeat those of the schema. */
function addressFaults(value: unknown): Fault[] {
  const serve = isObject(value) ? value['serve'] : undefined
  if (!isObject(serve) || !isObject(serve['operations'])) return []
  const { host = LOOPBACK, port } = serve['operations']
  const { host: httpHost = LOOPBACK, port: httpPort = 8741 } = isObject(serve['http']) ? serve['http'] : {}
  if (port === 0 || port !== httpPort || host !== httpHost) return []
  return [{ path: ['serve', 'operations', 'port'], message: 'is also the address of `serve.http`; they must differ' }]
}

/** Each plugin has one name that clients take, and each old name leads to a plugin that is served. */
function marketplaceFaults(value: unknown): Fault[] {
  const serve = isObject(value) ? value['serve'] : undefined
  const entry = isObject(serve) ? serve['marketplace'] : undefined
  if (!isObject(entry)) return []
  const path = ['serve', 'marketplace']
  const ids = entriesOf(value, 'packs').map((pack) => (isObject(pack) ? pack['id'] : undefined))
  const packs = ids.filter((id) => typeof id === 'string')
  const { plugin = 'skills' } = entry
  const served = new Set([...packs, ...(typeof plugin === 'string' ? [plugin] : [])])
  return [
    ...(packs.some((id) => id === plugin)
      ? [{ path: [...path, 'plugin'], message: 'is also the id of a pack; they must differ' }]
      : []),
    ...packNameFaults(entry['name'], packs, [...path, 'name']),
    ...retiredFaults(entriesOf(entry, 'retired'), served, [...path, 'retired']),
    ...renameFaults(entry['renames'], served, [...path, 'renames']),
  ]
}

/** Each publication has what it publishes, and a branch or a folder for itself: two would take turns on it for ever. */
function publicationFaults(value: unknown): Fault[] {
  const serve = isObject(value) ? value['serve'] : undefined
  const hasMarketplace = isObject(serve) && isObject(serve['marketplace'])
  const hasChannel = isObject(value) && isObject(value['channel'])
  const packs = new Set(entriesOf(value, 'packs').map((pack) => (isObject(pack) ? pack['id'] : undefined)))
  const rings = new Set(entriesOf(value, 'rings').map((one) => (isObject(one) ? one['id'] : undefined)))
  const first = new Map<string, number>()
  const faults: Fault[] = []
  for (const [index, entry] of entriesOf(value, 'publish').entries()) {
    if (!isObject(entry)) continue
    const { git, to, branch = 'main', pack, ring } = entry
    const path = ['publish', index]
    if (to !== undefined) faults.push(...channelFolderFaults(entry, hasChannel, path))
    if (git !== undefined && !hasMarketplace)
      faults.push({ path, message: 'needs `serve.marketplace`, which is what is published' })
    if (pack !== undefined && !packs.has(pack))
      faults.push({ path: [...path, 'pack'], message: 'must be the id of a pack' })
    if (ring !== undefined) faults.push(...ringOfFolderFaults(entry, rings, [...path, 'ring']))
    const place = typeof git === 'string' ? [normal(git), branch] : [to]
    const key = JSON.stringify(place)
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, index)
    else {
      const what = typeof git === 'string' ? 'the address and the branch' : 'the folder'
      faults.push({ path, message: `has ${what} of ${keyText(['publish', earlier])}; they must differ` })
    }
  }
  return faults
}

/** Finds the faults of a publication to a folder. */
function channelFolderFaults(entry: object, hasChannel: boolean, path: KeyPath): Fault[] {
  const keys = ['branch', 'auth', 'ca', 'proxy'].filter((key) => Object.hasOwn(entry, key))
  return [
    ...(hasChannel ? [] : [{ path, message: 'needs `channel`, which has the name and the key of what is published' }]),
    ...keys.map((key): Fault => ({
      path: [...path, key],
      at: 'key',
      message: 'goes with `git` alone: a folder has no host',
    })),
  ]
}

/** Finds the faults of the ring of a publication. A branch and a pack have the content of the last ring. */
function ringOfFolderFaults(
  { to, pack, ring }: { readonly to?: unknown; readonly pack?: unknown; readonly ring?: unknown },
  rings: ReadonlySet<unknown>,
  path: KeyPath,
): Fault[] {
  if (to === undefined) return [{ path, at: 'key', message: 'goes with `to` alone: a branch has the last ring' }]
  if (pack !== undefined) return [{ path, at: 'key', message: 'does not go with `pack`: a pack has the last ring' }]
  return rings.has(ring) ? [] : [{ path, message: 'must be the id of a ring' }]
}

/** The marketplace of one pack is named after both. */
function packNameFaults(name: unknown, packs: readonly string[], path: KeyPath): Fault[] {
  if (typeof name !== 'string') return []
  return packs.flatMap((id): Fault[] => {
    const whole = `${name}-${id}`
    if (!isServedPluginName(id)) return [{ path, message: `cannot have the pack "${id}": it is a device of Windows` }]
    if (whole.length > MOST_NAME)
      return [{ path, message: `makes a name of over ${MOST_NAME} characters with the pack "${id}"` }]
    return isReservedName(whole)
      ? [{ path, message: `makes "${whole}" with the pack "${id}", a name that Claude Code refuses` }]
      : []
  })
}

function retiredFaults(retired: readonly unknown[], served: ReadonlySet<string>, path: KeyPath): Fault[] {
  return retired.flatMap((old, index): Fault[] => {
    if (typeof old !== 'string') return []
    if (served.has(old)) return [{ path: [...path, index], message: 'is served; a retired plugin is not' }]
    return retired.indexOf(old) === index ? [] : [{ path: [...path, index], message: 'is there twice' }]
  })
}

function renameFaults(renames: unknown, served: ReadonlySet<string>, path: KeyPath): Fault[] {
  if (!isObject(renames)) return []
  const after = new Map(Object.entries(renames))
  return [...after.keys()].flatMap((old): Fault[] => {
    if (served.has(old)) return [{ path: [...path, old], at: 'key', message: 'is served under this name' }]
    let now: unknown = old
    for (let steps = 0; typeof now === 'string' && after.has(now) && steps <= after.size; steps += 1)
      now = after.get(now)
    if (typeof now !== 'string' || served.has(now)) return []
    return [{ path: [...path, old], message: 'names no plugin: neither a pack nor `plugin`' }]
  })
}

const LOOPBACK = '127.0.0.1'

function inWords(keys: readonly string[]): string {
  return keys.map((key) => `\`${key}\``).join(' and ')
}

/** Finds text in the form of a well-known kind of token, at any place. */
function inlineSecrets(value: unknown, path: KeyPath): Fault[] {
  if (typeof value === 'string') {
    return looksLikeSecret(value)
      ? [
          {
            path,
            message: 'looks like a secret; keep secrets out of this file, and name the place that they are read from',
          },
        ]
      : []
  }
  if (Array.isArray(value)) return value.flatMap((entry, index) => inlineSecrets(entry, [...path, index]))
  return isObject(value) ? Object.entries(value).flatMap(([key, below]) => inlineSecrets(below, [...path, key])) : []
}

/** Finds addresses that their `backend` cannot serve, whether the source or `defaults` sets it. */
function backendFaults(sources: readonly unknown[], defaults: readonly unknown[]): Fault[] {
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

/** The same for the repository of the lock. */
function lockBackendFaults(value: unknown): Fault[] {
  const origin = lockOriginIn(value)
  if (origin === undefined) return []
  return backendFaults([origin], entriesOf(value, 'defaults')).map(({ path, message }) => {
    const keys = path.slice(2).map((key) => (key === 'url' ? 'git' : key))
    return { path: ['lock', 'from', ...keys], message }
  })
}

interface Said {
  readonly backend?: unknown
  readonly proxy?: unknown
}

function misuseOf(backend: unknown, url: string, proxy: unknown): string | undefined {
  if (backend === 'embedded' && isSshAddress(url)) {
    return 'cannot be embedded for an ssh address, which only the git program can reach; use auto or system'
  }
  if (backend === 'system' && /^https?:/i.test(url) && isOwnHeader(proxy)) {
    return 'cannot be system beside `proxy.auth.header`: the git program sends a proxy only a user name and a password'
  }
  return undefined
}

function isOwnHeader(proxy: unknown): boolean {
  return isObject(proxy) && isObject(proxy['auth']) && Object.hasOwn(proxy['auth'], 'header')
}

/**
 * Checks the preconditions of a fallback: the source's skills are locked, and the fallback is an enabled MCP server.
 */
function fallbackFaults(sources: readonly unknown[]): Fault[] {
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

/** Reports each choice by `plugin` that can match no source with `marketplace: true`: it would choose nothing. */
function pluginFaults(value: unknown): Fault[] {
  const defaults = entriesOf(value, 'defaults').filter(hasMatch)
  const ids = entriesOf(value, 'sources').flatMap((source) => (hasMarketplace(source, defaults) ? [source['id']] : []))
  return entriesOf(value, 'packs').flatMap((pack, index) =>
    ['include', 'exclude'].flatMap((key) =>
      entriesOf(pack, key).flatMap((choice, at): Fault[] => {
        if (!isObject(choice) || typeof choice['plugin'] !== 'string') return []
        const { source = '**' } = choice
        // The schema reports any other glob.
        if (typeof source !== 'string' || source === '' || source.length > MOST_GLOB) return []
        const isMatch = matcher([source])
        if (ids.some((id) => typeof id === 'string' && isMatch(id))) return []
        const message = 'needs a source with `marketplace: true` that the entry can match'
        return [{ path: ['packs', index, key, at, 'plugin'], at: 'key', message }]
      }),
    ),
  )
}

function hasMarketplace(
  source: unknown,
  defaults: Parameters<typeof withDefaults>[2],
): source is Readonly<Record<string, unknown>> {
  if (!isObject(source) || source['enabled'] === false || Object.hasOwn(source, 'mcp')) return false
  const { url } = source
  const said: { readonly marketplace?: unknown } = withDefaults(source, typeof url === 'string' ? url : '', defaults)
  return said.marketplace === true
}

/** The limit of the schema on the glob. */
const MOST_GLOB = 200
