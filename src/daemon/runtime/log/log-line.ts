import type { LogFields, LogValue } from '../../../base/log.ts'
import type { Redactor } from './redactor.ts'
import { isSecretName } from './redactor.ts'

/** One JSON object per line, or short lines for people. */
export type LogFormat = 'json' | 'text'

/**
 * Renders the fields as one line of at most 8 KiB, without secrets or terminal control characters. If the line is too
 * long, each text is cut. If that is not enough, only the head is left.
 */
export function logLineOf(head: LogFields, fields: LogFields, format: LogFormat, redactor: Redactor): string {
  // Fields must not override the head, whatever their names are.
  const all = { ...head, ...fields, ...head }
  for (let mostCharacters = 4_096; mostCharacters >= 16; mostCharacters /= 4) {
    const line = render(all, format, (text) => cut(printableLine(redactor.clean(text)), mostCharacters))
    if (Buffer.byteLength(line) <= LINE_BYTES) return line
  }
  return render({ ...head, cut: true }, format, (text) => cut(printableLine(redactor.clean(text)), 128))
}

/** The text in one line. Escapes characters that control a terminal, are invisible, or change the order of others. */
export function printableLine(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Like `printableLine` for a line of foreign text: keeps tabs, which are common there and control nothing. */
export function printableText(line: string): string {
  return line.split('\t').map(printableLine).join('\t')
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Leaves room for the newline and the journal's priority. */
const LINE_BYTES = 8_192 - 4

function cut(text: string, mostCharacters: number): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters).toWellFormed()}…`
}

type Clean = (text: string) => string

function render(fields: LogFields, format: LogFormat, clean: Clean): string {
  const plain = Object.entries(fields).flatMap(([name, value]): [string, Plain][] => {
    if (value === undefined) return []
    return [[clean(name), isSecretName(name) ? '***' : plainOf(value, clean)]]
  })
  return format === 'json' ? JSON.stringify(Object.fromEntries(plain)) : textOf(plain)
}

type Plain = string | number | boolean | null | undefined | readonly Plain[] | { readonly [name: string]: Plain }

function plainOf(value: LogValue, clean: Clean): Plain {
  if (typeof value === 'string') return clean(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return value.toJSON()
  if (value instanceof Error) return plainError(value, clean, 0)
  return value.map((item) => plainOf(item, clean))
}

/** The error and its causes, three deep: a chain can be a ring. */
function plainError(error: Error, clean: Clean, depth: number): Plain {
  const code = 'code' in error && typeof error.code === 'string' ? clean(error.code) : undefined
  const cause = error.cause instanceof Error && depth < 3 ? plainError(error.cause, clean, depth + 1) : undefined
  return { name: clean(error.name), code, message: clean(error.message), cause }
}

/** `12:00:00 warn pull-failed source=team …`, with the local time and without the date. */
function textOf(fields: readonly (readonly [string, Plain])[]): string {
  return fields.map(([name, value]) => wordOf(name, value)).join(' ')
}

function wordOf(name: string, value: Plain): string {
  const word = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
  if (name === 'time') return new Date(word).toTimeString().slice(0, 8)
  return name === 'level' || name === 'event' ? word : `${name}=${word}`
}
