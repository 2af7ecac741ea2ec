import { isMapping } from '../../base/json-value.ts'
import type { JsonObject, JsonValue } from '../../base/json-value.ts'

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
  const twice = duplicateKey(body)
  return twice === undefined ? { ok: true, value } : { ok: false, why: `the key ${quoted(twice)} appears twice` }
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
 * The first key that one object has twice. The text must be valid JSON. A regular expression would exceed the stack on
 * a long string.
 */
function duplicateKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = []
  let string = { start: 0, end: 0 }
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '"':
        string = { start: at, end: endOfString(text, at) }
        at = string.end
        break
      case '{':
        open.push(new Set())
        break
      case '[':
        open.push(undefined)
        break
      case '}':
      case ']':
        open.pop()
        break
      case ':': {
        const key = String(JSON.parse(text.slice(string.start, string.end + 1)))
        const keys = open.at(-1)
        if (keys?.has(key) === true) return key
        keys?.add(key)
        break
      }
      default:
    }
  }
  return undefined
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
