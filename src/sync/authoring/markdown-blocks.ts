import { htmlBlockAt } from './html-block.ts'
import { LineCursor } from './line-cursor.ts'

/** Lines of a Markdown text that belong together. */
export interface Block {
  /** `prose`: a paragraph, a heading or a table. `html`: what is given to the browser as it is, such as a comment. */
  readonly kind: 'prose' | 'code' | 'html'
  /** Without their ends, and but for code without the marks of the quotations and lists that they stand in. */
  readonly lines: readonly Span[]
}

/** Offsets in a text. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The blocks of a Markdown text from `start` on, as CommonMark has them, in one pass over its lines. Who says that something is
 * code says that people see it, so what lies deeper than anybody writes is taken for prose.
 */
export function* blocksIn(text: string, start: number): Generator<Block> {
  const reader = new BlockReader(text)
  let block: { readonly kind: Block['kind']; readonly lines: Span[] } | undefined
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

/** Some editors put one before a text; it is no part of its first line. */
const BYTE_ORDER_MARK = '\uFEFF'

function* linesIn(text: string, start: number): Generator<Span> {
  const ending = /\r\n?|\n/g
  let at = start
  ending.lastIndex = start
  for (let found = ending.exec(text); found !== null; found = ending.exec(text)) {
    yield { start: at, end: found.index }
    at = ending.lastIndex
  }
  if (at < text.length) yield { start: at, end: text.length }
}

/** A quotation, or an item of a list with the columns that its text is indented by. */
type Container = { readonly kind: 'quote' } | { readonly kind: 'item'; readonly columns: number; isEmpty: boolean }

/** What the next line may belong to. */
type Leaf =
  | { readonly kind: 'paragraph' }
  | { readonly kind: 'indented' }
  | { readonly kind: 'fence'; readonly mark: string }
  | { readonly kind: 'html'; readonly closing: RegExp | undefined }

/** What a line is. */
interface Line {
  readonly kind: Block['kind'] | 'blank'
  /** It belongs to the line before. */
  readonly goesOn: boolean
  /** Where it begins, past the marks. */
  readonly from: number
}

/** More than anybody writes, and few enough to be asked for at each line. */
const MOST_CONTAINERS = 64

class BlockReader {
  readonly #text: string
  readonly #containers: Container[] = []
  #leaf: Leaf | undefined

  constructor(text: string) {
    this.#text = text
  }

  read({ start, end }: Span): Line {
    const cursor = new LineCursor(this.#text, start, end)
    const matched = this.#matched(cursor)
    const isInside = matched === this.#containers.length
    const inLeaf = isInside ? this.#inLeaf(cursor) : undefined
    if (inLeaf !== undefined) return { kind: inLeaf, goesOn: true, from: cursor.at }
    return new LineStarts(this, cursor, matched).read()
  }

  get containers(): readonly Container[] {
    return this.#containers
  }

  get isParagraph(): boolean {
    return this.#leaf?.kind === 'paragraph'
  }

  /** Ends the leaf, and all containers but the first `kept`. */
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

  /** How many of the containers the line stands in, and the cursor past their marks. */
  #matched(cursor: LineCursor): number {
    const first = this.#containers.findIndex((container) => !isIn(container, cursor))
    return first === -1 ? this.#containers.length : first
  }

  /** What a line is that can only belong to the leaf; undefined where it may be anything. */
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
      case undefined:
        return undefined
      default:
        return leaf satisfies never
    }
  }
}

function isIn(container: Container, cursor: LineCursor): boolean {
  if (container.kind === 'quote') return passQuote(cursor)
  // An item may begin with one empty line.
  if (cursor.isBlank) return !container.isEmpty
  if (cursor.indent < container.columns) return false
  cursor.passSpace(container.columns)
  return true
}

function passQuote(cursor: LineCursor): boolean {
  if (cursor.indent >= 4 || !cursor.rest.startsWith('>')) return false
  cursor.pass(1)
  cursor.passSpace(1)
  return true
}

function isClosing(rest: string, mark: string): boolean {
  const run = runOf(mark.charAt(0), rest)
  return run >= mark.length && /^[ \t]*$/.test(rest.slice(run))
}

function runOf(character: string, text: string): number {
  let length = 0
  while (text[length] === character) length += 1
  return length
}

/** What begins on one line. */
class LineStarts {
  readonly #reader: BlockReader
  readonly #cursor: LineCursor
  readonly #matched: number
  readonly #isInside: boolean
  /** Containers that the line does not stand in are left as soon as something begins: until then their paragraph may go on. */
  #hasLeft = false

  constructor(reader: BlockReader, cursor: LineCursor, matched: number) {
    this.#reader = reader
    this.#cursor = cursor
    this.#matched = matched
    this.#isInside = matched === reader.containers.length
  }

  read(): Line {
    while (!this.#cursor.isBlank && this.#depth < MOST_CONTAINERS) {
      if (this.#cursor.indent >= 4) {
        if (this.#mayGoOn) break
        return this.#begin('code', { kind: 'indented' })
      }
      const leaf = this.#leafLine(this.#cursor.rest)
      if (leaf !== undefined) return leaf
      if (!this.#container(this.#cursor.rest)) break
    }
    if (this.#cursor.isBlank) {
      this.#leave()
      return { kind: 'blank', goesOn: false, from: this.#cursor.at }
    }
    if (this.#mayGoOn) return { kind: 'prose', goesOn: true, from: this.#cursor.at }
    return this.#begin('prose', { kind: 'paragraph' })
  }

  get #depth(): number {
    return this.#hasLeft ? this.#reader.containers.length : this.#matched
  }

  /** A paragraph goes on without the marks of what it stands in, as long as nothing begins. */
  get #mayGoOn(): boolean {
    return this.#reader.isParagraph && !this.#hasLeft
  }

  #leave(): void {
    if (!this.#hasLeft) this.#reader.leave(this.#matched)
    this.#hasLeft = true
  }

  #begin(kind: Line['kind'], leaf: Leaf | undefined): Line {
    this.#leave()
    this.#reader.put(leaf)
    return { kind, goesOn: false, from: this.#cursor.at }
  }

  #leafLine(rest: string): Line | undefined {
    switch (rest[0]) {
      case '#':
        return ATX.test(rest) ? this.#begin('prose', undefined) : undefined
      case '`':
      case '~':
        return this.#fence(rest)
      case '<':
        return this.#html(rest)
      case '=':
      case '-':
      case '*':
      case '_':
        return this.#rule(rest)
      default:
        return undefined
    }
  }

  #fence(rest: string): Line | undefined {
    const mark = rest.slice(0, runOf(rest.charAt(0), rest))
    // What follows backticks on their line has none; else they are code in a sentence.
    if (mark.length < 3 || (mark.startsWith('`') && rest.includes('`', mark.length))) return undefined
    // What else stands on the line is on no page, so the code begins below.
    return this.#begin('blank', { kind: 'fence', mark })
  }

  #html(rest: string): Line | undefined {
    const html = htmlBlockAt(rest, !this.#mayGoOn)
    if (html === undefined) return undefined
    const isOver = html.closing?.test(rest) === true
    return this.#begin('html', isOver ? undefined : { kind: 'html', closing: html.closing })
  }

  /** A line across the page, or one below a heading. */
  #rule(rest: string): Line | undefined {
    if (this.#isInside && this.#mayGoOn && SETEXT.test(rest)) {
      this.#reader.put(undefined)
      return { kind: 'prose', goesOn: true, from: this.#cursor.at }
    }
    if (!THEMATIC.test(rest)) return undefined
    return this.#begin('blank', undefined)
  }

  /** Whether a quotation or an item of a list begins. */
  #container(rest: string): boolean {
    if (rest.startsWith('>')) {
      this.#leave()
      passQuote(this.#cursor)
      this.#reader.enter({ kind: 'quote' })
      return true
    }
    const marker = MARKER.exec(rest)?.[0]
    if (marker === undefined) return false
    const interrupts = this.#isInside && this.#mayGoOn
    if (interrupts && /^\d/.test(marker) && Number.parseInt(marker, 10) !== 1) return false
    if (interrupts && /^[ \t]*$/.test(rest.slice(marker.length))) return false
    this.#leave()
    const before = this.#cursor.indent
    this.#cursor.pass(marker.length)
    const after = this.#cursor.indent
    // More white space is the indentation of code.
    const isNarrow = after <= 4 && !this.#cursor.isBlank
    this.#cursor.passSpace(isNarrow ? after : 1)
    const columns = before + marker.length + (isNarrow ? after : 1)
    this.#reader.enter({ kind: 'item', columns, isEmpty: true })
    return true
  }
}

const ATX = /^#{1,6}(?:[ \t]|$)/
const SETEXT = /^(?:=+|-+)[ \t]*$/
const THEMATIC = /^(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$/
const MARKER = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/
