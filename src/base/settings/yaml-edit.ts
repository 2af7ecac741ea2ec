import { isDeepStrictEqual } from 'node:util'
import { Document, isMap, isSeq, parseDocument } from 'yaml'
import type { YAMLSeq } from 'yaml'
import { isObject } from '../json-object.ts'
import type { JsonObject } from '../json-value.ts'
import { EditRefused, lineAt } from './edit-refused.ts'

/** An item of a list, with a comment in the line before it. */
export interface YamlItem {
  readonly value: JsonObject
  readonly comment?: string
}

/**
 * Adds items to the end of the list at a key of the top level, which is added if it is missing. Every other byte stays.
 * Throws `EditRefused` if the text is not valid, or has no list there.
 */
export function withItems(text: string, key: string, items: readonly YamlItem[]): string {
  const document = parseDocument(text, { keepSourceTokens: true })
  const [fault] = document.errors
  if (fault !== undefined) throw invalid(text, fault.pos[0], fault.message.split(/ at line |\n/)[0] ?? '')
  if (document.contents !== null && !isMap(document.contents)) throw invalid(text, 0, 'the file is no mapping')
  const list: unknown = document.get(key, true)
  const edited = isSeq(list) ? withinList(text, list, items) : afterAll(text, key, list, items)
  expectAdded(text, edited, key, items)
  return edited
}

function withinList(text: string, list: YAMLSeq, items: readonly YamlItem[]): string {
  const [start = 0, end = text.length] = list.range ?? []
  if (list.flow !== true) {
    const indent = list.srcToken !== undefined && 'indent' in list.srcToken ? list.srcToken.indent : 0
    return inserted(text, lineEnd(text, end), blockOf(items, indent, eolOf(text)))
  }
  const close = text.lastIndexOf(']', end - 1)
  const isFirst = list.items.length === 0
  const comma = isFirst || /,\s*$/.test(text.slice(start, close)) ? '' : ', '
  const values = items.map(({ value }) => JSON.stringify(value)).join(', ')
  return text.slice(0, close) + comma + values + text.slice(close)
}

/** Adds the key at the end. A key without a value there is left for the operator to remove. */
function afterAll(text: string, key: string, found: unknown, items: readonly YamlItem[]): string {
  if (found !== undefined)
    throw invalid(text, Math.max(text.search(new RegExp(`^${key}:`, 'm')), 0), `${key} is no list`)
  const eol = eolOf(text)
  return inserted(text, text.length, `${key}:${eol}${blockOf(items, 2, eol)}`)
}

/** Inserts whole lines. */
function inserted(text: string, at: number, lines: string): string {
  const before = text.slice(0, at)
  const gap = before === '' || before.endsWith('\n') ? '' : eolOf(text)
  return before + gap + lines + text.slice(at)
}

/** The end of the line on which a value ends, with the comment there. */
function lineEnd(text: string, end: number): number {
  if (end > 0 && text[end - 1] === '\n') return end
  const next = text.indexOf('\n', end)
  return next === -1 ? text.length : next + 1
}

function blockOf(items: readonly YamlItem[], indent: number, eol: string): string {
  const lines = items.flatMap(({ value, comment }) => {
    const text = new Document([value]).toString({ lineWidth: 0 }).trimEnd()
    return [...(comment === undefined ? [] : [`# ${comment}`]), ...text.split('\n')]
  })
  return lines.map((line) => ' '.repeat(indent) + line + eol).join('')
}

/** The list must have the items, and all else must be as it was: YAML has more forms than are known here. */
function expectAdded(text: string, edited: string, key: string, items: readonly YamlItem[]): void {
  const before: unknown = parseDocument(text).toJS() ?? {}
  const after = parseDocument(edited)
  if (!isObject(before)) throw invalid(text, 0, 'the file is no mapping')
  const list: unknown = before[key] ?? []
  const expected = { ...before, [key]: [...(Array.isArray(list) ? list : []), ...items.map(({ value }) => value)] }
  if (after.errors.length === 0 && isDeepStrictEqual(after.toJS(), expected)) return
  throw invalid(text, 0, `the form of ${key} is not known; add the items by hand`)
}

function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}

function invalid(text: string, offset: number, why: string): EditRefused {
  return new EditRefused('invalid', `line ${lineAt(text, offset)}: ${why}`)
}
