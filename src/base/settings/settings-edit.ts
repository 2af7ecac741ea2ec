import { isMapping } from '../json-value.ts'
import type { JsonObject, JsonValue } from '../json-value.ts'

/** The change that a text of settings needs for one purpose. */
export interface SettingsEdit {
  readonly text: string
  /** The names of what was added or replaced; empty if the text is as it was. */
  readonly changed: readonly string[]
  /** The change for a person: lines with a sign. They have no other setting of the text, which may be a secret. */
  readonly shown: readonly string[]
}

/** One member of a JSON file: its value, or an item that its array has. */
export type JsonMember =
  | { readonly path: readonly string[]; readonly value: JsonValue }
  | { readonly path: readonly string[]; readonly item: JsonValue }

/** One table of a TOML file. */
export interface TomlTable {
  readonly path: readonly string[]
  readonly values: Readonly<Record<string, string | boolean>>
}

/** The members as the text of a new file. */
export function jsonText(members: readonly JsonMember[]): string {
  const whole = members.reduce<JsonObject>(
    (root, member) => withValue(root, member.path, 'item' in member ? [member.item] : member.value),
    {},
  )
  return JSON.stringify(whole, undefined, 2)
}

function withValue(root: JsonObject, [name = '', ...below]: readonly string[], value: JsonValue): JsonObject {
  if (below.length === 0) return { ...root, [name]: value }
  const inner = root[name]
  return { ...root, [name]: withValue(isMapping(inner) ? inner : {}, below, value) }
}

/** The tables as TOML, without a line break at the end. */
export function tomlText(tables: readonly TomlTable[], eol = '\n'): string {
  return tables
    .map(({ path, values }) =>
      [
        `[${path.map(tomlKey).join('.')}]`,
        ...Object.entries(values).map(([name, value]) => `${tomlKey(name)} = ${tomlValue(value)}`),
      ].join(eol),
    )
    .join(eol + eol)
}

function tomlKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : tomlString(name)
}

function tomlValue(value: string | boolean): string {
  // A literal string needs no escapes, which patterns are full of.
  if (typeof value === 'string' && /^[ -&(-~]*\\[ -&(-~]*$/.test(value)) return `'${value}'`
  return typeof value === 'string' ? tomlString(value) : String(value)
}

/** A basic string has the escapes of JSON, and forbids DEL besides. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}
