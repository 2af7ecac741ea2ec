import { isObject } from '../../../base/json-object.ts'

/** The entries of a list of a plain value; none if it has no such list. */
export function entriesAt(value: unknown, key: string): readonly unknown[] {
  const list = isObject(value) ? value[key] : undefined
  return Array.isArray(list) ? list : []
}
