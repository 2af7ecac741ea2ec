/**
 * JSON in one form alone: keys sorted, no space, no key without a value, a newline at the end. Equal values give equal
 * bytes, whoever built them.
 */
export function canonicalJson(value: unknown): string {
  return `${jsonOf(value)}\n`
}

/** A value in its one form, without the line break at its end. */
export function jsonOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  // An object with sorted keys will not do: `JSON.stringify` puts numeric ones first, and `__proto__` cannot be assigned.
  let members = ''
  for (const key of keysOf(value)) members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${jsonOf(value[key])}`
  return `{${members}}`
}

/** Those that have a value, in order. */
function keysOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
}

/** The same form with a line for each member and each item, for files that people read, compare and merge. */
export function indentedJson(value: unknown): string {
  return `${indented(value, '')}\n`
}

function indented(value: unknown, indent: string): string {
  const inner = `${indent}  `
  if (Array.isArray(value))
    return bracketed(
      '[',
      ']',
      value.map((item) => `${inner}${indented(item, inner)}`),
      indent,
    )
  if (!isObject(value)) return JSON.stringify(value)
  const members = keysOf(value).map((key) => `${inner}${JSON.stringify(key)}: ${indented(value[key], inner)}`)
  return bracketed('{', '}', members, indent)
}

function bracketed(open: string, close: string, lines: readonly string[], indent: string): string {
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A time as we write it: ISO 8601 in UTC, to the millisecond. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value))
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
