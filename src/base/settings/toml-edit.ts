import { isDeepStrictEqual } from 'node:util'
import { TomlError, parse } from 'smol-toml'
import { isObject } from '../json-object.ts'
import { EditRefused } from './edit-refused.ts'
import { tomlText } from './settings-edit.ts'
import type { SettingsEdit, TomlTable } from './settings-edit.ts'

/**
 * Adds tables at the end of a text of TOML; every byte before them stays. A table that has these values already is left
 * as it is, whatever else it has. Throws `EditRefused` if one has other values, or if the text is not valid.
 */
export function withTables(text: string, tables: readonly TomlTable[]): SettingsEdit {
  const before = parseToml(text)
  const missing = tables.filter((table) => isMissing(text, before, table))
  if (missing.length === 0) return { text, changed: [], shown: [] }
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n'
  const gap = text.trim() === '' ? '' : (text.endsWith('\n') ? '' : eol) + eol
  const after = `${text}${gap}${tomlText(missing, eol)}${eol}`
  expectAdded(text, after, missing)
  const shown = tomlText(missing)
    .split('\n')
    .map((line) => `+${line}`)
  return { text: after, changed: missing.map(({ path }) => path.join('.')), shown }
}

type Tables = Record<string, unknown>

/** An integer above 2^53 is valid TOML. */
const OPTIONS = { integersAsBigInt: 'asNeeded' } as const

/** Parses TOML. Throws `EditRefused` for other text. */
export function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text, OPTIONS)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const why = error.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '')
    throw new EditRefused('invalid', `line ${error.line}: ${why}`)
  }
}

/** False if the table is there with the wanted values. Throws if it has others. */
function isMissing(text: string, before: Tables, { path, values }: TomlTable): boolean {
  const found = path.reduce<unknown>((node, name) => memberOf(node, name), before)
  if (found === undefined) return true
  const names = Object.keys(values)
  if (isObject(found) && names.every((name) => memberOf(found, name) === values[name])) return false
  // A table of which only tables below are there can still be opened.
  if (isObject(found) && Object.values(found).every(isObject)) return true
  throw new EditRefused('differs', `${placeOf(text, path)}: [${path.join('.')}] is there with other values`)
}

function memberOf(node: unknown, name: string): unknown {
  return isObject(node) && Object.hasOwn(node, name) ? node[name] : undefined
}

/** A table cannot be added below one that is closed, as inline tables are. */
function expectAdded(text: string, after: string, missing: readonly TomlTable[]): void {
  const expected = parseToml(text)
  for (const { path, values } of missing) {
    let node: Tables = expected
    for (const name of path) {
      const below: unknown = memberOf(node, name) ?? Object.create(null)
      if (!isObject(below)) throw closed(text, path)
      node[name] = below
      node = below
    }
    Object.assign(node, values)
  }
  if (!isDeepStrictEqual(parsedOrNone(after), expected)) throw closed(text, missing[0]?.path ?? [])
}

function parsedOrNone(text: string): Tables | undefined {
  try {
    return parse(text, OPTIONS)
  } catch (error) {
    if (error instanceof TomlError) return undefined
    throw error
  }
}

function closed(text: string, path: readonly string[]): EditRefused {
  return new EditRefused(
    'differs',
    `${placeOf(text, path.slice(0, 1))}: [${path.join('.')}] cannot be added, because "${path[0]}" is closed there`,
  )
}

/** The line of the header of the table, or of a key that begins its path. */
function placeOf(text: string, path: readonly string[]): string {
  const lines = text.split(/\r?\n/)
  const header = lines.findIndex((line) => isHeaderOf(line, path))
  const [first = ''] = path
  const key = lines.findIndex((line) => line.trimStart().replace(/^["']/, '').startsWith(first))
  const at = header === -1 ? key : header
  return at === -1 ? 'the file' : `line ${at + 1}`
}

function isHeaderOf(line: string, path: readonly string[]): boolean {
  if (!/^\s*\[/.test(line) || line.length > LONGEST_HEADER) return false
  const found = path.reduce<unknown>((node, name) => memberOf(node, name), parsedOrNone(line))
  return isObject(found) && Object.keys(found).length === 0
}

const LONGEST_HEADER = 1_000
