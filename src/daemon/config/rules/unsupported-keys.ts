import { isObject } from '../../../base/json-object.ts'
import type { Fault, KeyPath } from './config-error.ts'

/** A key of the schema that this version does not support, or not with every value. */
interface Later {
  /** `sources[].signed` */
  readonly key: string
  /** Selects the unsupported values. Without it, all values are unsupported. */
  readonly values?: (value: unknown) => boolean
  /** Replaces the usual message. */
  readonly message?: string
}

/**
 * To ignore such a key silently would be wrong: a file that uses one is refused. A key leaves this table when a version
 * supports it.
 */
export const LATER: readonly Later[] = [{ key: 'serve.http.tls' }, { key: 'log' }, { key: 'programs.gpg' }]

/** Finds the unsupported keys in use, in sources and in `defaults`. */
export function laterFaults(value: unknown): Fault[] {
  return LATER.flatMap((later) =>
    [later.key, later.key.replace(/^sources\[\]/, 'defaults[]')]
      .filter((key, index, keys) => keys.indexOf(key) === index)
      .flatMap((key) => uses(value, key.split('.'), []))
      .filter((use) => later.values?.(use.value) ?? true)
      .map((use): Fault => ({ path: use.path, at: 'key', message: later.message ?? 'is not in this version yet' })),
  )
}

interface Use {
  readonly path: KeyPath
  readonly value: unknown
}

/** Every place of the value that the parts lead to; `sources[]` means each entry of `sources`. */
function uses(value: unknown, parts: readonly string[], path: KeyPath): Use[] {
  const [part, ...rest] = parts
  if (part === undefined) return [{ path, value }]
  const key = part.replace('[]', '')
  if (!isObject(value) || !Object.hasOwn(value, key)) return []
  const below = value[key]
  if (key === part) return uses(below, rest, [...path, key])
  return Array.isArray(below) ? below.flatMap((entry, index) => uses(entry, rest, [...path, key, index])) : []
}
