import { isMapping } from '../../../base/json-value.ts'
import type { JsonObject, JsonValue } from '../../../base/json-value.ts'

/** A JSON object, or the reason why the text is not one. */
export type StrictJson =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly why: string }

/**
 * Parses a JSON object in which no key appears twice. Parsers differ in which of two they take, so an agent could see
 * another plugin than we do.
 */
export function parseStrictJson(text: string): StrictJson {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const value = parsed(body)
  if (!isMapping(value)) return { ok: false, why: value === undefined ? 'it is not JSON' : 'it is not a JSON object' }
  const why = faultIn(body)
  return why === undefined ? { ok: true, value } : { ok: false, why }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // V8 throws a RangeError for nesting that exceeds the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/**
 * Finds a key that one object has twice, or too deep nesting. The text must be valid JSON. A regular expression would
 * exceed the stack on a long string.
 */
function faultIn(text: string): string | undefined {
  const open: Keys[] = []
  let string = { start: 0, end: 0 }
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '"':
        string = { start: at, end: endOfString(text, at) }
        at = string.end
        break
      case '{':
      case '[':
        open.push({})
        if (open.length > MOST_DEPTH) return `it is nested more than ${MOST_DEPTH} deep`
        break
      case '}':
      case ']':
        open.pop()
        break
      case ':': {
        const key = String(JSON.parse(text.slice(string.start, string.end + 1)))
        const keys = open.at(-1)
        if (keys !== undefined && isTwice(key, keys)) return `the key ${quoted(key)} appears twice`
        break
      }
      default:
    }
  }
  return undefined
}

const MOST_DEPTH = 64

/** The keys of an object so far. Most of a hundred thousand objects may have one key, which needs no set. */
interface Keys {
  first?: string
  all?: Set<string>
}

function isTwice(key: string, keys: Keys): boolean {
  if (keys.first === undefined) {
    keys.first = key
    return false
  }
  keys.all ??= new Set([keys.first])
  const isKnown = keys.all.has(key)
  keys.all.add(key)
  return isKnown
}

/** The position of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

/** Quotes a foreign text for a message, cut to a readable length. */
export function quoted(text: JsonValue | undefined): string {
  if (typeof text !== 'string') return 'that is not a text'
  return JSON.stringify(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text)
}

const MOST_SHOWN = 100
