import type { JsonValue } from '../../base/json-value.ts'

/**
 * A value to be written. A `Map` keeps the order of its members; an object has the order that JavaScript gives them.
 */
export type FrontmatterText = JsonValue | ReadonlyMap<string, FrontmatterText>

/**
 * The fields as YAML that every reader, even an old or strict one, reads as the same values: block style, no anchors,
 * each text in double quotes on one line. A value never contains a literal `---`, since some readers end the
 * frontmatter there.
 */
export function frontmatterText(fields: ReadonlyMap<string, FrontmatterText>, form: YamlForm = 'lines'): string {
  return `${linesOf(fields, { indent: '', form })}\n`
}

/** `compact`: every value except a `Map` is on one line, in flow style, which takes the least space. */
export type YamlForm = 'lines' | 'compact'

interface Layout {
  readonly indent: string
  readonly form: YamlForm
}

function linesOf(value: FrontmatterText, layout: Layout): string {
  if (value instanceof Map) return membersOf([...value], layout)
  if (isList(value)) return value.map((item) => `${layout.indent}- ${nestedText(item, layout).trimStart()}`).join('\n')
  return typeof value === 'object' && value !== null ? membersOf(Object.entries(value), layout) : scalar(value)
}

function membersOf(members: readonly (readonly [string, FrontmatterText])[], layout: Layout): string {
  return members.map(([key, value]) => `${layout.indent}${keyText(key)}:${below(value, layout)}`).join('\n')
}

function below(value: FrontmatterText, layout: Layout): string {
  if (layout.form === 'compact' && !(value instanceof Map)) return ` ${flowText(value)}`
  return isNested(value) ? `\n${linesOf(value, deeper(layout))}` : ` ${scalar(value)}`
}

function nestedText(value: FrontmatterText, layout: Layout): string {
  return isNested(value) ? linesOf(value, deeper(layout)) : scalar(value)
}

function deeper({ indent, form }: Layout): Layout {
  return { indent: `${indent}  `, form }
}

function flowText(value: FrontmatterText): string {
  if (isList(value)) return `[${value.map(flowText).join(',')}]`
  if (typeof value !== 'object' || value === null) return scalar(value)
  const members = value instanceof Map ? [...value] : Object.entries(value)
  return `{${members.map(([key, member]: readonly [string, FrontmatterText]) => `${quote(key)}: ${flowText(member)}`).join(',')}}`
}

function isNested(value: FrontmatterText): boolean {
  return typeof value === 'object' && value !== null && !isEmpty(value)
}

function isEmpty(value: Exclude<FrontmatterText, string | number | boolean | null>): boolean {
  return value instanceof Map ? value.size === 0 : Object.keys(value).length === 0
}

/** A value without lines of its own. An empty mapping or list has only this form. */
function scalar(value: FrontmatterText): string {
  if (typeof value === 'string') return quote(value)
  if (value instanceof Map) return '{}'
  if (typeof value === 'number') return numberText(value)
  return JSON.stringify(value)
}

/** A number in digits. Without a point before its exponent, `1e-7` is a text to YAML 1.1 readers. */
function numberText(value: number): string {
  return JSON.stringify(value).replace(/^(-?\d+)e/, '$1.0e')
}

/** Writes the key plain only if no reader of YAML 1.1 or 1.2 takes it for anything but a text. */
function keyText(key: string): string {
  return PLAIN_KEY.test(key) && !NO_TEXT.test(key) && !key.includes('---') ? key : quote(key)
}

const PLAIN_KEY = /^[A-Za-z][\w.-]*$/
const NO_TEXT = /^(?:y|n|yes|no|on|off|true|false|null)$/i

/** JSON is valid YAML, except for characters that readers take for a line break or refuse as unprintable. */
function quote(text: string): string {
  return JSON.stringify(text)
    .replaceAll('---', String.raw`--\u002d`)
    .replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

function isList(value: FrontmatterText): value is readonly JsonValue[] {
  return Array.isArray(value)
}
