import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument } from 'yaml'
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
  if (broken.length > 0) return { ok: false, faults: syntaxFaults(broken, text, lines) }
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
 * Keeps the first fault of each kind, and none beside an earlier one: later ones are mostly consequences. The parser's
 * own messages quote the text, so they are not used.
 */
function syntaxFaults(broken: readonly YAMLError[], text: string, lines: LineCounter): Fault[] {
  const first = new Map<ErrorCode, Fault & { readonly at: Position }>()
  for (const { code, message, pos } of broken.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    if (first.has(code)) continue
    const [, , said = 'this is not valid YAML; check quotes, brackets and commas'] =
      SYNTAX.find(([of, part]) => of === code && message.includes(part)) ?? []
    const place = at(lines, said === UNCLOSED ? text.length - openQuoteLength(text) : pos[0])
    if (first.values().some((fault) => place.line - fault.at.line < 2)) continue
    const isDeeper = said === INSIDE && broken.some((other) => MULTILINE === other.code && other.pos[0] === pos[0])
    first.set(code, { path: [], at: place, message: isDeeper ? DEEPER : said })
  }
  return [...first.values()]
}

/** The length of the quoted text that goes on to the end, which is the last token. */
function openQuoteLength(text: string): number {
  return [...new Lexer().lex(text)].findLast((token) => /^["']/.test(token))?.length ?? 0
}

const MULTILINE = 'MULTILINE_IMPLICIT_KEY'
const UNCLOSED = 'a quote that begins here is not closed; close it'
const DEEPER = 'this line has a value, and the next one is indented deeper; align the two'
const INSIDE = 'a mapping begins inside a value; quote a value that holds ": "'
const ALIAS = 'aliases are not supported here; write the value out, in quotes if it begins with *'
const NO_COLON = 'a colon and a space are missing after a key; if the line continues a text, indent it'

/** A code of the parser, a part of its message, and ours. */
const SYNTAX: readonly (readonly [ErrorCode, string, string])[] = [
  ['BAD_ALIAS', '', ALIAS],
  ['BAD_INDENT', 'All mapping', 'this key begins at another column than those of its mapping; align them'],
  ['BAD_INDENT', 'All sequence', 'this list item begins at another column than those above it; align the dashes'],
  ['BAD_INDENT', 'Flow', 'a bracket is not closed before this line, or the line is not indented'],
  ['BAD_SCALAR_START', '', 'a value that begins with this character must be in quotes'],
  ['BLOCK_AS_IMPLICIT_KEY', 'sequence', 'this list item is in no list; align its dash with the others'],
  ['BLOCK_AS_IMPLICIT_KEY', 'Nested', INSIDE],
  ['MISSING_CHAR', 'Sequence item', 'this line is indented less than the keys of the list item above it; align them'],
  ['MISSING_CHAR', 'map values', NO_COLON],
  ['MISSING_CHAR', 'Missing closing', UNCLOSED],
  [MULTILINE, '', NO_COLON],
  ['MULTIPLE_DOCS', '', 'the file holds more than one YAML document; keep one'],
  ['RESOURCE_EXHAUSTION', '', 'the file is nested too deep'],
  ['TAB_AS_INDENT', '', 'a tab is used where spaces are required; indent with spaces'],
  ['TAG_RESOLVE_FAILED', '', 'tags are not supported here; write the plain value, in quotes if it begins with !'],
  ['UNEXPECTED_TOKEN', 'node end', 'a value has ended before this; align it with the first key, or quote the value'],
]

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
    if (isAlias(node)) return this.#refuse(path, position, ALIAS)
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
      } else if (/^\s/.test(key)) {
        this.#refuse(path, position, 'this begins with a character that only looks like a space; write plain spaces')
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
