import type { HiddenRun, HiddenText } from '../../skill-md/hidden-unicode.ts'
import { isObject } from '../../../base/json-object.ts'

/** Parses stored hidden characters; `undefined` for any other value. */
export function hiddenTextIn(value: unknown): HiddenText | undefined {
  if (!isObject(value)) return undefined
  const { count, runs, deceit } = value
  if (!isCount(count) || !Array.isArray(runs) || !runs.every(isRun)) return undefined
  if (deceit === undefined) return { count, runs }
  return deceit === 'smuggled' || deceit === 'disguised' ? { count, runs, deceit } : undefined
}

function isRun(value: unknown): value is HiddenRun {
  if (!isObject(value)) return false
  const { line, column, codePoints, length } = value
  return [line, column, length].every(isCount) && Array.isArray(codePoints) && codePoints.every(isCount)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
