import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { ErrorCode, YAMLError, YAMLMap } from 'yaml'
import type { Fault, KeyPath, Position } from './rules/config-error.ts'

/** A YAML text as plain data with the positions of keys and values, or the faults that make it unreadable. */
type YamlReading =
  | { readonly ok: true; readonly value: unknown; readonly faults: readonly Fault[]; readonly place: YamlPosition }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** Returns the position of a key or its value; for a path that is not in the text, that of the nearest one above it. */
export type YamlPosition = (path: KeyPath, what: 'key' | 'value') => Position

/** More than a person writes by hand. */
const LIMITS = { length: 1_048_576, depth: 16 } as const

/** Reads one YAML 1.2 document. Never throws; no message repeats a part of the text, which may contain a secret. */
export function readYaml(text: string): YamlReading {
  if (text.length > LIMITS.length) {
    return { ok: false, faults: [{ path: [], at: START, message: `the file is over ${LIMITS.length} characters` }] }
  }
  const lines = linesOf(text)
  // The walk finds duplicate keys, because it can name them.
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: false })
  const broken = [...document.errors, ...document.warnings]
  if (broken.length > 0) return { ok: false, faults: syntaxFaults(broken, lines) }
  const walk = new Walk(lines)
  const value = walk.plain(document.contents, [])
  if (walk.refusals.length > 0) return { ok: false, faults: walk.refusals }
  return { ok: true, value, faults: walk.duplicates, place: (path, what) => walk.place(path, what) }
}

const START: Position = { line: 1, column: 1 }

/** The line count of the parser misses some lines if the text is broken. */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  for (let start = 0; ;) {
    lines.addNewLine(start)
    const feed = text.indexOf('\n', start)
    if (feed === -1) return lines
    start = feed + 1
  }
}

function at(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

/**
 * Keeps the first fault of each kind: later ones are mostly consequences. The parser's own messages quote the text, so
 * they are not used.
 */
function syntaxFaults(broken: readonly YAMLError[], lines: LineCounter): Fault[] {
  const first = new Map<string, Fault>()
  for (const { code, pos } of broken.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const message = SYNTAX[code] ?? 'this is not valid YAML'
    if (!first.has(message)) first.set(message, { path: [], at: at(lines, pos[0]), message })
  }
  return [...first.values()]
}

const SYNTAX: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'aliases are not supported here; write the value out',
  BAD_INDENT: 'this is not valid YAML: the indentation matches no line above it',
  BLOCK_AS_IMPLICIT_KEY: 'this is not valid YAML: a mapping begins inside a value; quote a value that holds ": "',
  MISSING_CHAR: 'this is not valid YAML: a closing quote, a bracket, a comma, a colon or a space is missing',
  MULTILINE_IMPLICIT_KEY: 'this is not valid YAML: a key goes over several lines; check the colon and the quotes',
  MULTIPLE_DOCS: 'the file holds more than one YAML document; keep one',
  RESOURCE_EXHAUSTION: 'the file is nested too deep',
  TAB_AS_INDENT: 'this is not valid YAML: a tab is used where spaces are required; indent with spaces',
  TAG_RESOLVE_FAILED: 'tags are not supported here; write the plain value',
}

/** One pass over the nodes: collects the plain value, all positions and the refusals. */
class Walk {
  /** Faults that make the value unusable. */
  readonly refusals: Fault[] = []
  readonly duplicates: Fault[] = []
  readonly #places = new Map<string, { readonly key: Position; readonly value: Position }>()
  readonly #lines: LineCounter

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  plain(node: unknown, path: KeyPath, key = START): unknown {
    const position = this.#start(node) ?? key
    this.#places.set(JSON.stringify(path), { key: path.length === 0 ? position : key, value: position })
    // A few bytes of aliases can expand to gigabytes.
    if (isAlias(node)) return this.#refuse(path, position, 'aliases are not supported here; write the value out')
    if (path.length > LIMITS.depth) return this.#refuse([], position, 'the file is nested too deep')
    if (isMap(node)) return this.#mapping(node, path)
    if (isSeq(node)) return node.items.map((item, index) => this.plain(item, [...path, index], position))
    return isScalar(node) ? node.value : null
  }

  place(path: KeyPath, what: 'key' | 'value'): Position {
    const found = this.#places.get(JSON.stringify(path))
    if (found !== undefined) return found[what]
    return path.length === 0 ? START : this.place(path.slice(0, -1), 'value')
  }

  #mapping(node: YAMLMap, path: KeyPath): Record<string, unknown> {
    const mapping: Record<string, unknown> = {}
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? pair.key.value : undefined
      const position = this.#start(pair.key) ?? this.place(path, 'value')
      if (typeof key !== 'string' || key === '__proto__') {
        this.#refuse(path, position, 'a key here is not text; put it in quotes if it is intended')
      } else if (Object.hasOwn(mapping, key)) {
        const message = 'the key is here a second time; keep one of the two'
        this.duplicates.push({ path: [...path, key], at: position, message })
      } else {
        mapping[key] = this.plain(pair.value, [...path, key], position)
      }
    }
    return mapping
  }

  #start(node: unknown): Position | undefined {
    const range = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node) ? node.range : undefined
    return range ? at(this.#lines, range[0]) : undefined
  }

  #refuse(path: KeyPath, position: Position, message: string): undefined {
    this.refusals.push({ path, at: position, message })
    return undefined
  }
}
