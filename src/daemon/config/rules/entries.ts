import { isObject } from '../../../base/json-object.ts'

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
