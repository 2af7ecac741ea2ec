import { isObject } from '../../../base/json-object.ts'
import { accessFaults, oauthFaults } from './auth-rules.ts'
import { looksLikeSecret } from './config-error.ts'
import type { Fault, KeyPath } from './config-error.ts'
import { duplicateIds, entriesAt, valueAt } from './entries.ts'
import { backendFaults, docsOwners, fallbackFaults, hostlessFaults, sourceFaults } from './source-rules.ts'

/** Finds faults between keys of the plain value of a file. */
export type FindFaults = (value: unknown) => readonly Fault[]

/**
 * Finds faults between keys, those of features included. It works on the plain value, so that it finds them in the same
 * pass even if single keys are invalid.
 */
export function ruleFaults(value: unknown, ofFeatures: readonly FindFaults[]): Fault[] {
  const sources = entriesAt(value, 'sources')
  return [
    ...originFaults(value),
    ...duplicateIds(value, 'sources'),
    ...duplicateIds(value, 'packs'),
    ...lockFaults(value, sources),
    ...docsOwners(sources),
    ...sources.flatMap((source, index) => sourceFaults(source, ['sources', index])),
    ...fallbackFaults(sources),
    ...addressFaults(value),
    ...oauthFaults(value),
    ...ofFeatures.flatMap((faultsIn) => faultsIn(value)),
    ...accessFaults(reachedIn(value), entriesAt(value, 'defaults')),
    ...backendFaults(sources, entriesAt(value, 'defaults')),
    ...lockBackendFaults(value),
    ...inlineSecrets(value, []),
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
  return [...both, ...hostlessFaults({ ...follow, follow }, path)]
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
