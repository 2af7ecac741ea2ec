import { isObject } from '../../../base/json-object.ts'
import { keyText } from './config-error.ts'
import type { Fault } from './config-error.ts'

/** The value of a key of a plain value; `undefined` if that is no mapping. */
export function valueAt(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined
}

/** The entries of a list of a plain value; none if it has no such list. */
export function entriesAt(value: unknown, key: string): readonly unknown[] {
  const list = valueAt(value, key)
  return Array.isArray(list) ? list : []
}

/** The ids of such a list that are texts. */
export function idsAt(value: unknown, key: string): readonly string[] {
  return entriesAt(value, key)
    .map((entry) => valueAt(entry, 'id'))
    .filter((id) => typeof id === 'string')
}

/** Reports each id of such a list that an earlier entry has. */
export function duplicateIds(value: unknown, key: string): Fault[] {
  const first = new Map<string, number>()
  return entriesAt(value, key).flatMap((entry, index): Fault[] => {
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
