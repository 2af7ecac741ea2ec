import { isDeepStrictEqual } from 'node:util'
import type { JsonValue } from '../json-value.ts'
import { EditRefused, lineAt } from './edit-refused.ts'
import { afterComments, afterLineTrivia, parseJsonc } from './jsonc-tree.ts'
import type { JsoncEntry, JsoncNode } from './jsonc-tree.ts'
import { jsonText } from './settings-edit.ts'
import type { JsonMember, SettingsEdit } from './settings-edit.ts'

/**
 * Sets members in a text of JSON with comments, and leaves every other byte as it is. A missing object or array on the
 * way is added. Throws `EditRefused` if the text is not valid, or has another type there.
 */
export function withMembers(text: string, members: readonly JsonMember[]): SettingsEdit {
  const changed: string[] = []
  const shown: string[] = []
  let edited = text
  for (const member of members) {
    const next = withMember(edited, member)
    if (next === edited) continue
    changed.push(member.path.join(' → '))
    shown.push(...linesOf(edited, member))
    edited = next
  }
  return { text: edited, changed, shown }
}

function linesOf(before: string, member: JsonMember): readonly string[] {
  const name = member.path.join(' → ')
  if ('item' in member) return [`+${name}: ${JSON.stringify(member.item)}`]
  const old = valueAt(parseJsonc(before), member.path)
  const removed = old === undefined ? [] : [`-${name}: ${JSON.stringify(old, withoutPaths)}`]
  return [...removed, `+${name}: ${JSON.stringify(member.value)}`]
}

/** An earlier address is shown without what follows its host: it can have a token, and the output is in logs. */
function withoutPaths(_key: string, value: JsonValue): JsonValue {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url === null || url.host === '' ? value : `${url.protocol}//${url.host}/…`
}

function valueAt(root: JsoncNode | undefined, path: readonly string[]): JsonValue | undefined {
  return path.reduce((node, name) => node?.entries?.find((entry) => entry.name === name)?.node, root)?.value
}

function withMember(text: string, member: JsonMember): string {
  const root = parseJsonc(text)
  if (root === undefined) return `${text.startsWith('\uFEFF') ? '\uFEFF' : ''}${jsonText([member])}\n`
  let node = expectKind(text, root, 'object', 'the file')
  for (const [index, name] of member.path.entries()) {
    const entry = node.entries?.find((each) => each.name === name)
    const rest = member.path.slice(index + 1)
    if (entry === undefined) return withEntry(text, root, node, `${JSON.stringify(name)}: `, newValue(rest, member))
    if (rest.length === 0) return replaced(text, root, entry, member)
    node = expectKind(text, entry.node, 'object', JSON.stringify(name))
  }
  return text
}

function newValue(path: readonly string[], member: JsonMember): JsonValue {
  const value = 'item' in member ? [member.item] : member.value
  return path.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value)
}

function replaced(text: string, root: JsoncNode, { name, node }: JsoncEntry, member: JsonMember): string {
  if ('item' in member) {
    const array = expectKind(text, node, 'array', JSON.stringify(name))
    if (array.entries?.some((entry) => isDeepStrictEqual(entry.node.value, member.item)) === true) return text
    return withEntry(text, root, array, '', member.item)
  }
  if (isDeepStrictEqual(node.value, member.value)) return text
  const lines = formatted(member.value, text, root, indentAt(text, node.start))
  return text.slice(0, node.start) + lines + text.slice(node.end)
}

function expectKind(text: string, node: JsoncNode, kind: JsoncNode['kind'], name: string): JsoncNode {
  if (node.kind === kind) return node
  const what = kind === 'object' ? 'an object' : 'an array'
  throw new EditRefused('invalid', `line ${lineAt(text, node.start)}: ${name} is not ${what}`)
}

/** Adds an entry as the last one. Comments stay with the entries before them. */
function withEntry(text: string, root: JsoncNode, inside: JsoncNode, key: string, value: JsonValue): string {
  const last = inside.entries?.at(-1)
  if (last === undefined) return withFirst(text, root, inside, key, value)
  const isInline = !/^[ \t]*$/.test(text.slice(lineStart(text, last.start), last.start))
  // A comment after the last entry is on its line, after the comma that this entry needs.
  const at = Math.min(afterLineTrivia(text, last.end), inside.end - 1)
  const comma = last.hasComma ? '' : ','
  const before = text.slice(0, last.node.end) + comma + text.slice(last.node.end, at)
  const indent = indentAt(text, last.start)
  const isAfterLineComment = /\/\/[^\r\n]*$/.test(text.slice(last.end, at))
  const gap = isInline && !isAfterLineComment ? ' ' : eolOf(text) + indent
  return before + gap + key + formatted(value, text, root, indent) + text.slice(at)
}

function withFirst(text: string, root: JsoncNode, inside: JsoncNode, key: string, value: JsonValue): string {
  const eol = eolOf(text)
  const outer = indentAt(text, inside.start)
  const indent = outer + unitOf(text, root)
  const close = inside.end - 1
  const at = afterComments(text, inside.start + 1)
  const tail = text.slice(at, close).includes('\n') ? '' : eol + outer
  return text.slice(0, at) + eol + indent + key + formatted(value, text, root, indent) + tail + text.slice(at)
}

function formatted(value: JsonValue, text: string, root: JsoncNode, indent: string): string {
  return JSON.stringify(value, undefined, unitOf(text, root)).replaceAll('\n', eolOf(text) + indent)
}

/** The indent of one level: that of the first member, if it has a line of its own. */
function unitOf(text: string, { entries, start }: JsoncNode): string {
  const first = entries?.[0]
  if (first === undefined) return '  '
  const indent = indentAt(text, first.start)
  const outer = indentAt(text, start)
  const isDeeper = indent.length > outer.length && indent.startsWith(outer)
  return isDeeper ? indent.slice(outer.length).slice(0, 8) : '  '
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''
}

function lineStart(text: string, offset: number): number {
  return Math.max(text.lastIndexOf('\n', offset - 1) + 1, text.startsWith('\uFEFF') ? 1 : 0)
}

function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}
