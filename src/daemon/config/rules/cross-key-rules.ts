import { isObject } from '../../../base/json-object.ts'
import { marketplaceFaults, pluginFaults } from '../../../features/marketplace/marketplace-rules.ts'
import { publicationFaults } from '../../../features/marketplace/publication-rules.ts'
import { ringFaults } from '../../../features/rings/ring-rules.ts'
import { accessFaults, authMisuse, oauthFaults, timeFaults } from './auth-rules.ts'
import { keyText, looksLikeSecret } from './config-error.ts'
import type { Fault, KeyPath } from './config-error.ts'
import { entriesAt, valueAt } from './entries.ts'
import { backendFaults, docsOwners, fallbackFaults, hostlessFaults, sourceFaults } from './source-rules.ts'
import { laterFaults } from './unsupported-keys.ts'

/**
 * Finds faults between keys. It works on the plain value, so that it finds them in the same pass even if single keys
 * are invalid.
 */
export function ruleFaults(value: unknown): Fault[] {
  const sources = entriesAt(value, 'sources')
  return [
    ...originFaults(value),
    ...duplicateIds(sources, 'sources'),
    ...duplicateIds(entriesAt(value, 'packs'), 'packs'),
    ...lockFaults(value, sources),
    ...duplicateIds(entriesAt(value, 'rings'), 'rings'),
    ...ringFaults(value),
    ...docsOwners(sources),
    ...sources.flatMap((source, index) => sourceFaults(source, ['sources', index])),
    ...fallbackFaults(sources),
    ...pluginFaults(value),
    ...addressFaults(value),
    ...oauthFaults(value),
    ...marketplaceFaults(value),
    ...publicationFaults(value),
    ...gateFaults(valueAt(value, 'gate')),
    ...accessFaults(reachedIn(value), entriesAt(value, 'defaults')),
    ...backendFaults(sources, entriesAt(value, 'defaults')),
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
  const from = valueAt(valueAt(value, 'lock'), 'from')
  return isObject(from) ? { ...from, url: from['git'] } : undefined
}

/** The entries that name a host, with their paths. */
function reachedIn(value: unknown): readonly (readonly [unknown, KeyPath])[] {
  const lists = ['sources', 'publish'].flatMap((key) =>
    entriesAt(value, key).map((entry, index) => [entry, [key, index]] as const),
  )
  const single = [[lockOriginIn(value), ['lock', 'from']] as const]
  return isObject(value) ? [...lists, ...single, [value['follow'], ['follow']]] : lists
}

function duplicateIds(entries: readonly unknown[], key: string): Fault[] {
  const first = new Map<string, number>()
  return entries.flatMap((entry, index): Fault[] => {
    const id = valueAt(entry, 'id')
    if (typeof id !== 'string') return []
    const earlier = first.get(id)
    if (earlier !== undefined) {
      return [{ path: [key, index, 'id'], message: `is also the id of ${keyText([key, earlier])}; ids must differ` }]
    }
    first.set(id, index)
    return []
  })
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
  const serve = valueAt(value, 'serve')
  if (!isObject(serve) || !isObject(serve['operations'])) return []
  const { host = LOOPBACK, port } = serve['operations']
  const { host: httpHost = LOOPBACK, port: httpPort = 8741 } = isObject(serve['http']) ? serve['http'] : {}
  if (port === 0 || port !== httpPort || host !== httpHost) return []
  return [{ path: ['serve', 'operations', 'port'], message: 'is also the address of `serve.http`; they must differ' }]
}

const LOOPBACK = '127.0.0.1'

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

/** The same for the repository of the lock. */
function lockBackendFaults(value: unknown): Fault[] {
  const origin = lockOriginIn(value)
  if (origin === undefined) return []
  return backendFaults([origin], entriesAt(value, 'defaults')).map(({ path, message }) => {
    const keys = path.slice(2).map((key) => (key === 'url' ? 'git' : key))
    return { path: ['lock', 'from', ...keys], message }
  })
}
