import { isDeepStrictEqual } from 'node:util'
import { Document, isMap, isNode, isSeq, parseDocument } from 'yaml'
import type { YAMLSeq } from 'yaml'
import { isObject } from '../json-object.ts'
import type { JsonValue } from '../json-value.ts'
import { EditRefused, lineAt } from './edit-refused.ts'

/** An item of a list, with a comment in the line before it. */
export interface YamlItem {
  readonly value: JsonValue
  readonly comment?: string
}

/**
 * Adds items to the end of the list at a key of the top level, which is added if it is missing. Every other byte stays.
 * Throws `EditRefused` if the text is not valid, or has no list there.
 */
export function withItems(text: string, key: string, items: readonly YamlItem[]): string {
  const list: unknown = parsed(text).get(key, true)
  const edited = isSeq(list) ? withinList(text, list, items) : afterAll(text, key, list, items)
  expectAdded(text, edited, key, items)
  return edited
}

/** Adds a key with a text at the end of the top level. Throws `EditRefused` if the text is not valid, or has the key. */
export function withTextKey(text: string, key: string, value: string): string {
  if (parsed(text).has(key)) throw invalid(text, 0, `${key} is there already`)
  const eol = eolOf(text)
  const edited = inserted(text, text.length, new Document({ [key]: value }).toString({ lineWidth: 0 }).trimEnd() + eol)
  expectOnly(text, edited, key, value)
  return edited
}

/** The items of the list at a key of the top level. Throws `EditRefused` as `withItems` does. */
export function itemsAt(text: string, key: string): readonly unknown[] {
  const document = parsed(text)
  return listAt(document, text, key).toJS(document)
}

/** Removes items from the list at a key of the top level. */
export interface YamlRemoval {
  readonly key: string
  /** True for an item to remove. */
  readonly isRemoved: (value: unknown, index: number) => boolean
  /** True for a comment that goes with the item below it, without its `#`. All other comments before an item stay. */
  readonly isOwnComment: (comment: string) => boolean
}

/**
 * Removes the items, with the comments inside them, and the key of a list with dashes that has none left. Every other
 * byte stays. Throws `EditRefused` if the text is not valid, or has no list there.
 */
export function withoutItems(text: string, { key, isRemoved, isOwnComment }: YamlRemoval): string {
  const document = parsed(text)
  const list = listAt(document, text, key)
  const ranges = list.items.map((item) => rangeOf(item, text))
  const values: unknown[] = list.toJS(document)
  const gone = [...values.keys()].filter((index) => isRemoved(values[index], index))
  const isEmptied = list.flow !== true && gone.length === values.length
  const without = gone.toReversed().reduce((rest, index) => {
    const isFollowed = values.some((_, later) => later > index && !gone.includes(later))
    const [start, end] =
      list.flow === true ? flowSpan(ranges, index, isFollowed, rest) : blockSpan(ranges, index, rest, isOwnComment)
    return rest.slice(0, start) + rest.slice(end)
  }, text)
  const edited = isEmptied ? withoutKey(without, key) : without
  expectOnly(text, edited, key, isEmptied ? undefined : values.filter((_, index) => !gone.includes(index)))
  return edited
}

/** Removes the line of a key without a value. */
function withoutKey(text: string, key: string): string {
  const start = text.search(new RegExp(`^${key}:`, 'm'))
  return text.slice(0, start) + text.slice(nextLine(text, start))
}

function listAt(document: Document.Parsed, text: string, key: string): YAMLSeq {
  const list: unknown = document.get(key, true)
  if (!isSeq(list)) throw noList(text, key)
  return list
}

function noList(text: string, key: string): EditRefused {
  return invalid(text, Math.max(text.search(new RegExp(`^${key}:`, 'm')), 0), `${key} is not a list`)
}

function rangeOf(item: unknown, text: string): readonly [start: number, end: number] {
  const [start, end] = isNode(item) ? (item.range ?? []) : []
  if (start === undefined || end === undefined) throw invalid(text, 0, 'an item has no place in the text')
  return [start, end]
}

/** The lines of an item in a list with dashes, with its own comments. */
function blockSpan(
  ranges: readonly (readonly [number, number])[],
  index: number,
  text: string,
  isOwnComment: (comment: string) => boolean,
): readonly [number, number] {
  const [from = 0] = ranges[index] ?? []
  const dash = text.lastIndexOf('-', from - 1)
  let start = lineStart(text, dash)
  const indent = dash - start
  while (start > 0) {
    const above = lineStart(text, start - 1)
    const line = text.slice(above, start)
    if (!line.trimStart().startsWith('#') || !isOwnComment(line.trim().slice(1).trim())) break
    start = above
  }
  return [start, blockEnd(text, dash, indent)]
}

/** The end of the lines of an item from this place in it on: all below it that are indented by more. */
function blockEnd(text: string, place: number, indent: number): number {
  let end = nextLine(text, place)
  for (let at = end; at < text.length; at = nextLine(text, at)) {
    const line = text.slice(at, nextLine(text, at))
    if (line.trim() === '') continue
    if (line.search(/\S/) <= indent) break
    end = nextLine(text, at)
  }
  return end
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end + 1
}

/**
 * An item between brackets, with the comma after it; that of the last item is before it. Throws `EditRefused` if there
 * is a comment: it may be about another item.
 */
function flowSpan(
  ranges: readonly (readonly [number, number])[],
  index: number,
  isFollowed: boolean,
  text: string,
): readonly [number, number] {
  const [start = 0, end = 0] = ranges[index] ?? []
  const [previous, next] = [ranges[index - 1], ranges[index + 1]]
  const isBeforeNext = isFollowed && next !== undefined
  const [from, to] = isBeforeNext ? [start, next[0]] : [previous === undefined ? start : previous[1], end]
  const between = isBeforeNext ? text.slice(end, to) : text.slice(from, start)
  if (between.includes('#')) throw invalid(text, from, 'a comment stands between the items; edit it by hand')
  return [from, to]
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function parsed(text: string): Document.Parsed {
  const document = parseDocument(text, { keepSourceTokens: true })
  const [fault] = document.errors
  if (fault !== undefined) throw invalid(text, fault.pos[0], fault.message.split(/ at line |\n/)[0] ?? '')
  if (document.contents !== null && !isMap(document.contents)) throw invalid(text, 0, 'the file is not a mapping')
  return document
}

function withinList(text: string, list: YAMLSeq, items: readonly YamlItem[]): string {
  const [start = 0, end = text.length] = list.range ?? []
  if (list.flow !== true) {
    const indent = list.srcToken !== undefined && 'indent' in list.srcToken ? list.srcToken.indent : 0
    // The range of the list ends after the comments that follow it, which belong to the next key.
    const [, last] = rangeOf(list.items.at(-1), text)
    return inserted(text, blockEnd(text, last - 1, indent), blockOf(items, indent, eolOf(text)))
  }
  const close = text.lastIndexOf(']', end - 1)
  const isFirst = list.items.length === 0
  const comma = isFirst || /,\s*$/.test(text.slice(start, close)) ? '' : ', '
  const values = items.map(({ value }) => JSON.stringify(value)).join(', ')
  return text.slice(0, close) + comma + values + text.slice(close)
}

/** Adds the key at the end. A key without a value there is left for the operator to remove. */
function afterAll(text: string, key: string, found: unknown, items: readonly YamlItem[]): string {
  if (found !== undefined) throw noList(text, key)
  const eol = eolOf(text)
  return inserted(text, text.length, `${key}:${eol}${blockOf(items, 2, eol)}`)
}

/** Inserts whole lines. */
function inserted(text: string, at: number, lines: string): string {
  const before = text.slice(0, at)
  const gap = before === '' || before.endsWith('\n') ? '' : eolOf(text)
  return before + gap + lines + text.slice(at)
}

function blockOf(items: readonly YamlItem[], indent: number, eol: string): string {
  const lines = items.flatMap(({ value, comment }) => {
    const text = new Document([value]).toString({ lineWidth: 0 }).trimEnd()
    return [...(comment === undefined ? [] : [`# ${comment}`]), ...text.split('\n')]
  })
  return lines.map((line) => ' '.repeat(indent) + line + eol).join('')
}

function expectAdded(text: string, edited: string, key: string, items: readonly YamlItem[]): void {
  const before: unknown = parseDocument(text).toJS() ?? {}
  const list: unknown = isObject(before) ? before[key] : undefined
  expectOnly(text, edited, key, [...(Array.isArray(list) ? list : []), ...items.map(({ value }) => value)])
}

/** The key must have the value, if any, and all else must be as it was: YAML has more forms than are known here. */
function expectOnly(text: string, edited: string, key: string, value: unknown): void {
  const before: unknown = parseDocument(text).toJS() ?? {}
  if (!isObject(before)) throw invalid(text, 0, 'the file is not a mapping')
  const { [key]: _, ...others } = before
  if (isDeepStrictEqual(valueOf(edited) ?? {}, value === undefined ? others : { ...others, [key]: value })) return
  throw invalid(text, 0, `the form of ${key} is not known; edit it by hand`)
}

/** `undefined` for a text that is not valid, or has an alias without its anchor. */
function valueOf(text: string): unknown {
  const document = parseDocument(text)
  try {
    return document.errors.length === 0 ? document.toJS() : undefined
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    return undefined
  }
}

function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}

function invalid(text: string, offset: number, why: string): EditRefused {
  return new EditRefused('invalid', `line ${lineAt(text, offset)}: ${why}`)
}
