import { isObject } from './json-object.ts'
/**
 * Serializes JSON canonically: sorted keys, no whitespace, no key with an `undefined` value, a newline at the end.
 * Equal values give equal bytes.
 */
export function canonicalJson(value: unknown): string {
  return `${jsonOf(value)}\n`
}

/** The canonical form of a value, without the newline at the end. */
export function jsonOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  // An object with sorted keys is not enough: `JSON.stringify` puts numeric keys first, and `__proto__` cannot be
  // assigned.
  let members = ''
  for (const key of keysOf(value)) members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${jsonOf(value[key])}`
  return `{${members}}`
}

/** The keys that have a value, sorted. */
function keysOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
}

/** Canonical JSON with one line for each member and item, for files that people read, compare and merge. */
export function indentedJson(value: unknown): string {
  return `${indentValue(value, '')}\n`
}

function indentValue(value: unknown, indent: string): string {
  const inner = `${indent}  `
  if (Array.isArray(value))
    return bracket(
      '[',
      ']',
      value.map((item) => `${inner}${indentValue(item, inner)}`),
      indent,
    )
  if (!isObject(value)) return JSON.stringify(value)
  const members = keysOf(value).map((key) => `${inner}${JSON.stringify(key)}: ${indentValue(value[key], inner)}`)
  return bracket('{', '}', members, indent)
}

function bracket(open: string, close: string, lines: readonly string[], indent: string): string {
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** True if the value is a time in our format: ISO 8601 in UTC, with milliseconds. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value))
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
