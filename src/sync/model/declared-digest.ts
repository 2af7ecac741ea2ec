import { isObjectId } from './revision.ts'
import type { ObjectId } from './revision.ts'

/** The hex digits of a digest in the form of SEP-2640, in which upper case is malformed. `undefined` if malformed. */
export function sha256In(digest: unknown): ObjectId | undefined {
  const found = typeof digest === 'string' ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined
  return found !== undefined && isObjectId(found) ? found : undefined
}

/** True if the value is a number of bytes. */
export function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
