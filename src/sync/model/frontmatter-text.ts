import type { JsonValue } from './frontmatter.ts'

/** A value to be written. A `Map` has its members in their order; those of an object have the order that JavaScript gives them. */
export type Written = JsonValue | ReadonlyMap<string, Written>

/**
 * The fields as YAML that every reader takes for the same values, old and strict ones too: block style, no anchors, each
 * text in double quotes on one line. Within a value `---` never stands as it is, since some readers end the frontmatter there.
 */
export function frontmatterText(fields: ReadonlyMap<string, Written>): string {
  return `${linesOf(fields, '')}\n`
}

function linesOf(value: Written, indent: string): string {
  if (value instanceof Map) return membersOf([...value], indent)
  if (isList(value)) return value.map((item) => `${indent}- ${nested(item, indent).trimStart()}`).join('\n')
  return typeof value === 'object' && value !== null ? membersOf(Object.entries(value), indent) : scalar(value)
}

function membersOf(members: readonly (readonly [string, Written])[], indent: string): string {
  return members.map(([key, value]) => `${indent}${keyText(key)}:${below(value, indent)}`).join('\n')
}

function below(value: Written, indent: string): string {
  return isNested(value) ? `\n${linesOf(value, `${indent}  `)}` : ` ${scalar(value)}`
}

function nested(value: Written, indent: string): string {
  return isNested(value) ? linesOf(value, `${indent}  `) : scalar(value)
}

function isNested(value: Written): boolean {
  return typeof value === 'object' && value !== null && !isEmpty(value)
}

function isEmpty(value: Exclude<Written, string | number | boolean | null>): boolean {
  return value instanceof Map ? value.size === 0 : Object.keys(value).length === 0
}

/** What needs no lines of its own; an empty mapping or list has no other form than this. */
function scalar(value: Written): string {
  if (typeof value === 'string') return quoted(value)
  if (value instanceof Map) return '{}'
  if (typeof value === 'number') return numberText(value)
  return JSON.stringify(value)
}

/** A number in digits. Without a point before its exponent, `1e-7` is a text to readers of YAML 1.1. */
function numberText(value: number): string {
  return JSON.stringify(value).replace(/^(-?\d+)e/, '$1.0e')
}

/** Written plain only where no reader of YAML 1.1 or 1.2 takes it for anything but a text. */
function keyText(key: string): string {
  return PLAIN_KEY.test(key) && !NO_TEXT.test(key) && !key.includes('---') ? key : quoted(key)
}

const PLAIN_KEY = /^[A-Za-z][\w.-]*$/
const NO_TEXT = /^(?:y|n|yes|no|on|off|true|false|null)$/i

/** JSON is YAML, but for what readers take for a break of lines or refuse as unprintable. */
function quoted(text: string): string {
  return JSON.stringify(text)
    .replaceAll('---', String.raw`--\u002d`)
    .replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

function isList(value: Written): value is readonly JsonValue[] {
  return Array.isArray(value)
}
