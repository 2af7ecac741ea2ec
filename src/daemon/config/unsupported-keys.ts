import { isObject } from '../../base/canonical-json.ts'
import type { Fault, KeyPath } from './config-error.ts'

/** A key of the schema that this version cannot honour, or not with every value. */
interface Later {
  /** `sources[].signed` */
  readonly key: string
  /** Which of its values are meant. Without it: all. */
  readonly values?: (value: unknown) => boolean
  /** Said instead of the usual words. */
  readonly message?: string
}

/** To ignore such a key would be a lie: the file that uses one is refused. What a version learns to honour leaves this table. */
export const LATER: readonly Later[] = [{ key: 'serve.http.tls' }, { key: 'log' }, { key: 'programs.gpg' }]

/** What the configuration uses and this version cannot honour, of a source or said for many by `defaults`. */
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
