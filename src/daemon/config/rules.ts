import { isObject } from '../../sync/store/json.ts'
import { accessFaults, authMisuse, timeFaults } from './access-rules.ts'
import { laterFaults } from './later.ts'
import { isLoopbackUrl } from './loopback.ts'
import { keyText, looksLikeSecret } from './problem.ts'
import type { Fault, KeyPath } from './problem.ts'

/**
 * What is wrong between keys, beside what is wrong with each: asked of the plain value, so that it is found in the same
 * pass even where single keys are broken.
 */
export function ruleFaults(value: unknown): Fault[] {
  const sources = entriesOf(value, 'sources')
  return [
    ...duplicateIds(sources, 'sources'),
    ...duplicateIds(entriesOf(value, 'packs'), 'packs'),
    ...docsOwners(sources),
    ...sources.flatMap((source, index) => sourceFaults(source, ['sources', index])),
    ...addressFaults(value),
    ...oauthFaults(value),
    ...gateFaults(isObject(value) ? value['gate'] : undefined),
    ...accessFaults(sources, entriesOf(value, 'defaults')),
    ...inlineSecrets(value, []),
    ...laterFaults(value),
  ]
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
      return [{ path: [key, index, 'id'], message: `is the id of ${keyText([key, earlier])} too; ids must differ` }]
    }
    first.set(id, index)
    return []
  })
}

/** `resource://docs/` names no source, so one alone can own it; one that is switched off owns nothing. */
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
  const places = ['url', 'path', 'mcp'].filter((key) => Object.hasOwn(source, key))
  if (places.length === 0)
    faults.push({ path, message: 'needs `url`, the address of a git repository, or `path`, a folder' })
  if (places.length > 1) faults.push({ path, message: `has ${inWords(places)}; keep one of them` })
  return [...faults, ...timeFaults(source, path), ...folderFaults(source, path)]
}

/** What is said of a repository or a host has no meaning for a folder. */
function folderFaults(source: Readonly<Record<string, unknown>>, path: KeyPath): Fault[] {
  if (!Object.hasOwn(source, 'path') || Object.hasOwn(source, 'url')) return []
  return Object.entries(OF_REPOSITORIES)
    .filter(([key]) => Object.hasOwn(source, key))
    .map(([key, why]): Fault => ({ path: [...path, key], at: 'key', message: `goes with \`url\` alone: ${why}` }))
}

const OF_REPOSITORIES = {
  ref: 'a folder has no branches and no tags, and is served as it is',
  auth: 'nobody is asked for a folder',
  signed: 'a folder has no commits that somebody could sign',
  webhook: 'a folder is watched, and has no host that could tell of it',
  ca: 'nobody is asked for a folder',
  proxy: 'nobody is asked for a folder',
} as const

function gateFaults(gate: unknown): Fault[] {
  if (!isObject(gate)) return []
  const strangers = Object.hasOwn(gate, 'url') ? ['args', 'env'] : ['auth']
  const faults = strangers
    .filter((key) => Object.hasOwn(gate, key))
    .map((key): Fault => ({
      path: ['gate', key],
      at: 'key',
      message: `goes with \`${key === 'auth' ? 'url' : 'command'}\` alone`,
    }))
  const misuse = Object.hasOwn(gate, 'auth') ? authMisuse(gate['url'], gate['auth'], undefined) : undefined
  return misuse === undefined ? faults : [...faults, { path: ['gate', 'auth'], at: 'key', message: misuse }]
}

/** Two listeners at one address. What they are if nothing is said is said by the schema too. */
function addressFaults(value: unknown): Fault[] {
  const serve = isObject(value) ? value['serve'] : undefined
  if (!isObject(serve) || !isObject(serve['operations'])) return []
  const { host = LOOPBACK, port } = serve['operations']
  const { host: httpHost = LOOPBACK, port: httpPort = 8741 } = isObject(serve['http']) ? serve['http'] : {}
  if (port === 0 || port !== httpPort || host !== httpHost) return []
  return [{ path: ['serve', 'operations', 'port'], message: 'is the address of `serve.http` too; they must differ' }]
}

/** Who could change the keys of an issuer on their way could make tokens. */
function oauthFaults(value: unknown): Fault[] {
  const serve = isObject(value) ? value['serve'] : undefined
  const oauth = isObject(serve) ? serve['oauth'] : undefined
  const issuer = isObject(oauth) ? oauth['issuer'] : undefined
  const url = typeof issuer === 'string' ? URL.parse(issuer) : null
  const path = ['serve', 'oauth', 'issuer']
  if (url?.protocol === 'http:' && !isLoopbackUrl(url)) {
    return [{ path, message: 'must be an https address, unless it is on this machine' }]
  }
  if (url !== null && (url.search !== '' || url.hash !== '')) {
    return [{ path, message: 'must not have a query or a fragment' }]
  }
  return []
}

const LOOPBACK = '127.0.0.1'

function inWords(keys: readonly string[]): string {
  return keys.map((key) => `\`${key}\``).join(' and ')
}

/** Text in the form of a well-known kind of token, wherever it stands. */
function inlineSecrets(value: unknown, path: KeyPath): Fault[] {
  if (typeof value === 'string') {
    return looksLikeSecret(value)
      ? [
          {
            path,
            message: 'holds what looks like a secret; keep secrets out of this file and name where they are read from',
          },
        ]
      : []
  }
  if (Array.isArray(value)) return value.flatMap((entry, index) => inlineSecrets(entry, [...path, index]))
  return isObject(value) ? Object.entries(value).flatMap(([key, below]) => inlineSecrets(below, [...path, key])) : []
}
