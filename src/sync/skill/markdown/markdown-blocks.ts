import { LineCursor } from './line-cursor.ts'
import { LineStarts, passQuote, runOf } from './line-starts.ts'
import type { Container, Leaf, Line, OpenBlocks } from './line-starts.ts'

/** Consecutive lines of a Markdown text that form one block. */
export interface MarkdownBlock {
  /**
   * `prose`: a paragraph, a heading or a table. `info`: the text after the mark that opens code. `html`: text that a
   * browser gets unchanged, such as a comment.
   */
  readonly kind: Exclude<Line['kind'], 'blank'>
  /** Without line ends. Except for code, without the marks of the enclosing quotations and lists. */
  readonly lines: readonly Span[]
}

/** Offsets in a text. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The blocks of a Markdown text from `start` on, by the rules of CommonMark, in one pass over its lines. Code counts as
 * visible to people, so text that is nested deeper than any author nests it counts as prose.
 */
export function* blocksIn(text: string, start: number): Generator<MarkdownBlock> {
  const reader = new BlockReader(text)
  let block: { readonly kind: MarkdownBlock['kind']; readonly lines: Span[] } | undefined
  for (const line of linesIn(text, text.startsWith(BYTE_ORDER_MARK, start) ? start + 1 : start)) {
    const { kind, goesOn, from } = reader.read(line)
    if (block !== undefined && (!goesOn || kind !== block.kind)) {
      yield block
      block = undefined
    }
    if (kind === 'blank') continue
    block ??= { kind, lines: [] }
    block.lines.push({ start: kind === 'code' ? line.start : from, end: line.end })
  }
  if (block !== undefined) yield block
}

/** Some editors put one before a text; it is not part of the first line. */
const BYTE_ORDER_MARK = '\uFEFF'

/** The lines without their ends, which are a line feed, a return, or both. */
function* linesIn(text: string, start: number): Generator<Span> {
  let [feed, back] = [placeOf('\n', text, start), placeOf('\r', text, start)]
  for (let at = start; at < text.length;) {
    const end = Math.min(feed, back)
    yield { start: at, end }
    at = feed === back + 1 ? feed + 1 : end + 1
    if (feed < at) feed = placeOf('\n', text, at)
    if (back < at) back = placeOf('\r', text, at)
  }
}

/** The end of the text if the character is not there. */
function placeOf(character: string, text: string, start: number): number {
  const at = text.indexOf(character, start)
  return at === -1 ? text.length : at
}

class BlockReader implements OpenBlocks {
  readonly #text: string
  readonly #containers: Container[] = []
  #leaf: Leaf | undefined

  constructor(text: string) {
    this.#text = text
  }

  read(line: Span): Line {
    return this.#plainLine(line) ?? this.#anyLine(line)
  }

  /**
   * A line that begins with a letter, not indented like code, outside of containers and of all leaves but a paragraph: no
   * block can begin there, and it delimits no table. Most lines are such, and this takes a fraction of the time.
   */
  #plainLine({ start, end }: Span): Line | undefined {
    const leaf = this.#leaf
    if (this.#containers.length > 0 || (leaf !== undefined && leaf.kind !== 'paragraph')) return undefined
    let at = start
    while (at < start + 3 && this.#text.charCodeAt(at) === SPACE) at += 1
    if (!isLetter(this.#text.charCodeAt(at))) return undefined
    this.#leaf = { kind: 'paragraph', last: this.#text.slice(at, end) }
    return { kind: 'prose', goesOn: leaf !== undefined, from: start }
  }

  #anyLine({ start, end }: Span): Line {
    const cursor = new LineCursor(this.#text, start, end)
    const matched = this.#matchCount(cursor)
    const isInside = matched === this.#containers.length
    const inLeaf = isInside ? this.#inLeaf(cursor) : undefined
    if (inLeaf !== undefined) return { kind: inLeaf, goesOn: true, from: cursor.at }
    return new LineStarts(this, cursor, matched).read()
  }

  get containers(): readonly Container[] {
    return this.#containers
  }

  get leaf(): Leaf | undefined {
    return this.#leaf
  }

  leave(kept: number): void {
    this.#containers.length = kept
    this.#leaf = undefined
  }

  enter(container: Container): void {
    this.#fill()
    this.#containers.push(container)
  }

  put(leaf: Leaf | undefined): void {
    this.#fill()
    this.#leaf = leaf
  }

  #fill(): void {
    const innermost = this.#containers.at(-1)
    if (innermost?.kind === 'item') innermost.isEmpty = false
  }

  /** The number of containers that the line is in. Moves the cursor past their marks. */
  #matchCount(cursor: LineCursor): number {
    const first = this.#containers.findIndex((container) => !isIn(container, cursor))
    return first === -1 ? this.#containers.length : first
  }

  /** The kind of a line that can only belong to the leaf; `undefined` if it may be anything. */
  #inLeaf(cursor: LineCursor): Line['kind'] | undefined {
    const leaf = this.#leaf
    switch (leaf?.kind) {
      case 'fence':
        if (cursor.indent < 4 && isClosing(cursor.rest, leaf.mark)) this.#leaf = undefined
        return 'code'
      case 'html':
        if (leaf.closing === undefined && cursor.isBlank) return undefined
        if (leaf.closing?.test(cursor.rest) === true) this.#leaf = undefined
        return 'html'
      case 'indented':
        if (cursor.isBlank) return 'blank'
        return cursor.indent >= 4 ? 'code' : undefined
      case 'paragraph':
      case 'table':
      case undefined:
        return undefined
      default:
        return leaf satisfies never
    }
  }
}

const SPACE = 0x20

/** True for a letter of ASCII. */
function isLetter(code: number): boolean {
  const upper = code & ~0x20
  return upper >= 0x41 && upper <= 0x5a
}

function isIn(container: Container, cursor: LineCursor): boolean {
  if (container.kind === 'quote') return passQuote(cursor)
  // An item may begin with one empty line.
  if (cursor.isBlank) return !container.isEmpty
  if (cursor.indent < container.columns) return false
  cursor.passSpace(container.columns)
  return true
}

function isClosing(rest: string, mark: string): boolean {
  const run = runOf(mark.charAt(0), rest)
  return run >= mark.length && /^[ \t]*$/.test(rest.slice(run))
}
