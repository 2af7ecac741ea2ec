import { parseJson } from '../json-value.ts'
import type { JsonValue } from '../json-value.ts'
import { EditRefused, lineAt } from './edit-refused.ts'

/** A value in a text of JSON with comments, with its place. */
export interface JsoncNode {
  readonly start: number
  readonly end: number
  readonly value: JsonValue
  /** Present for an object or an array. */
  readonly entries?: readonly JsoncEntry[]
  readonly kind: 'object' | 'array' | 'scalar'
}

/** A member of an object, or an item of an array. */
export interface JsoncEntry {
  /** The key of a member; empty for an item. */
  readonly name: string
  /** The start of the key, or of the item. */
  readonly start: number
  readonly node: JsoncNode
  /** The end of the value, or of the comma after it. */
  readonly end: number
  readonly hasComma: boolean
}

/**
 * Parses JSON with comments and trailing commas, as VS Code reads its settings. Throws `EditRefused` for other text, for
 * a key that is there twice, and for more than 100 levels. `undefined` if there is only white space.
 */
export function parseJsonc(text: string): JsoncNode | undefined {
  const start = text.startsWith('\uFEFF') ? 1 : 0
  if (text.slice(start).trim() === '') return undefined
  const reader = new JsoncReader(text, start)
  return reader.whole()
}

/** The offset after the last comment before other text. */
export function afterComments(text: string, from: number): number {
  let at = from
  for (;;) {
    WHITE_SPACE.lastIndex = at
    WHITE_SPACE.test(text)
    const next = afterComment(text, WHITE_SPACE.lastIndex)
    if (next === undefined) return at
    at = next
  }
}

/** The offset after the comments that end on the line of an entry, with the spaces between. */
export function afterLineTrivia(text: string, from: number): number {
  let at = from
  for (;;) {
    SPACES.lastIndex = at
    SPACES.test(text)
    const next = afterComment(text, SPACES.lastIndex)
    if (next === undefined || text.slice(at, next).includes('\n')) return at
    at = next
  }
}

function afterComment(text: string, at: number): number | undefined {
  if (text.startsWith('//', at)) {
    LINE.lastIndex = at
    LINE.test(text)
    return LINE.lastIndex
  }
  const end = text.startsWith('/*', at) ? text.indexOf('*/', at + 2) : -1
  return end === -1 ? undefined : end + 2
}

const WHITE_SPACE = /[ \t\r\n]*/y
const SPACES = /[ \t]*/y
const LINE = /[^\r\n]*/y
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null/y
const MOST_LEVELS = 100

class JsoncReader {
  readonly #text: string
  #at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  whole(): JsoncNode {
    this.#skip()
    const node = this.#node(0)
    this.#skip()
    return this.#at === this.#text.length ? node : this.#refuse('the end of the file is expected')
  }

  #node(level: number): JsoncNode {
    if (level > MOST_LEVELS) return this.#refuse(`it has more than ${MOST_LEVELS} levels`)
    const next = this.#text[this.#at]
    if (next === '{') return this.#container('object', '}', level)
    if (next === '[') return this.#container('array', ']', level)
    const start = this.#at
    const value = next === '"' ? this.#string('a value') : this.#scalar()
    return { kind: 'scalar', start, end: this.#at, value }
  }

  #container(kind: 'object' | 'array', close: string, level: number): JsoncNode {
    const start = this.#at
    const entries: JsoncEntry[] = []
    const names = new Set<string>()
    this.#at += 1
    for (;;) {
      this.#skip()
      if (this.#text[this.#at] === close) break
      if (entries.at(-1)?.hasComma === false) return this.#refuse(`a comma or "${close}" is expected`)
      const at = this.#at
      const name = kind === 'object' ? this.#name(names) : ''
      entries.push(this.#entry(name, at, this.#node(level + 1)))
    }
    this.#at += 1
    const values = entries.map(({ name, node }) => [name, node.value] as const)
    const value = kind === 'object' ? Object.fromEntries(values) : values.map(([, each]) => each)
    return { kind, start, end: this.#at, value, entries }
  }

  #entry(name: string, start: number, node: JsoncNode): JsoncEntry {
    this.#skip()
    const hasComma = this.#text[this.#at] === ','
    if (hasComma) this.#at += 1
    return { name, start, node, end: hasComma ? this.#at : node.end, hasComma }
  }

  #name(names: Set<string>): string {
    const name = this.#string('a key')
    if (names.has(name)) return this.#refuse(`the key ${JSON.stringify(name)} is there twice`)
    names.add(name)
    this.#skip()
    if (this.#text[this.#at] !== ':') return this.#refuse('a colon is expected')
    this.#at += 1
    this.#skip()
    return name
  }

  #string(what: string): string {
    const token = this.#take(STRING)
    // The pattern takes control characters and unknown escapes, which JSON does not.
    const value = token === undefined ? undefined : parseJson(token)
    return typeof value === 'string' ? value : this.#refuse(`${what} in quotes is expected`)
  }

  #scalar(): number | boolean | null {
    const token = this.#take(SCALAR)
    if (token === 'null') return null
    const value = token === undefined ? undefined : parseJson(token)
    return typeof value === 'number' || typeof value === 'boolean' ? value : this.#refuse('a value of JSON is expected')
  }

  #skip(): void {
    WHITE_SPACE.lastIndex = afterComments(this.#text, this.#at)
    WHITE_SPACE.test(this.#text)
    this.#at = WHITE_SPACE.lastIndex
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const token = pattern.exec(this.#text)?.[0]
    this.#at += token?.length ?? 0
    return token
  }

  #refuse(why: string): never {
    throw new EditRefused('invalid', `line ${lineAt(this.#text, this.#at)}: ${why}`)
  }
}
