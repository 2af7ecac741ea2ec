import { isTexts } from '../../../base/json-value.ts'
import type { JsonValue } from '../../../base/json-value.ts'

/** The path without `./`, dots and repeated slashes; `undefined` if it is absolute, leaves its base or is not a path. */
export function safePath(text: JsonValue): string | undefined {
  if (typeof text !== 'string' || text.length > MOST_PATH || text.startsWith('/') || !PORTABLE.test(text))
    return undefined
  const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.')
  return segments.includes('..') ? undefined : segments.join('/')
}

/** The limit on the characters of a path or an address in a marketplace. */
export const MOST_PATH = 512

/**
 * Backslashes and drive letters have a meaning on some systems only. A path with characters that are not visible would
 * be printed as another path.
 */
const PORTABLE = /^(?![A-Za-z]:)[^\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]*$/u

/** The strings of a value that is a string or an array of strings; empty for anything else. */
export function pathTexts(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return isTexts(value) ? value : []
}

/** True if the value is a string or an array of strings. */
export function isPathTexts(value: JsonValue): boolean {
  return typeof value === 'string' || isTexts(value)
}
