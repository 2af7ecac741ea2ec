import { tagAt } from './html-tag.ts'
import type { LineCursor } from './line-cursor.ts'
import { beginsTable } from './markdown-table.ts'

/** A quotation, or a list item with the number of columns by which its text is indented. */
export type Container =
  | { readonly kind: 'quote' }
  | { readonly kind: 'item'; readonly columns: number; isEmpty: boolean }

/** The open block that the next line may belong to. */
export type Leaf =
  /** `last`: its last line, without the indentation. */
  | { readonly kind: 'paragraph'; readonly last: string }
  | { readonly kind: 'table' }
  | { readonly kind: 'indented' }
  | { readonly kind: 'fence'; readonly mark: string }
  | { readonly kind: 'html'; readonly closing: RegExp | undefined }

/** The classification of a line. */
export interface Line {
  readonly kind: 'prose' | 'code' | 'info' | 'html' | 'blank'
  /** The line belongs to the previous one. */
  readonly goesOn: boolean
  /** The offset at which its content begins, after the marks. */
  readonly from: number
}

/** The open blocks before a line. */
export interface OpenBlocks {
  readonly containers: readonly Container[]
  readonly leaf: Leaf | undefined
  /** Ends the leaf, and all containers but the first `kept`. */
  leave(kept: number): void
  enter(container: Container): void
  put(leaf: Leaf | undefined): void
}

/** More than any author writes, and few enough to check at each line. */
const MOST_CONTAINERS = 64

/** Finds the blocks that begin on one line. */
export class LineStarts {
  readonly #blocks: OpenBlocks
  readonly #cursor: LineCursor
  readonly #matched: number
  readonly #isInside: boolean
  /**
   * True after the containers without this line are closed, which happens as soon as something begins. Until then their
   * paragraph may go on.
   */
  #hasLeft = false

  constructor(blocks: OpenBlocks, cursor: LineCursor, matched: number) {
    this.#blocks = blocks
    this.#cursor = cursor
    this.#matched = matched
    this.#isInside = matched === blocks.containers.length
  }

  read(): Line {
    while (!this.#cursor.isBlank && this.#depth < MOST_CONTAINERS) {
      if (this.#cursor.indent >= 4) {
        if (this.#paragraph !== undefined) break
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
    if (this.#mayGoOn) return this.#goOn()
    return this.#begin('prose', { kind: 'paragraph', last: this.#cursor.rest })
  }

  get #depth(): number {
    return this.#hasLeft ? this.#blocks.containers.length : this.#matched
  }

  /** A paragraph goes on without the marks of its containers, as long as nothing begins. A table does not. */
  get #mayGoOn(): boolean {
    const isRow = this.#isInside && !this.#hasLeft && this.#blocks.leaf?.kind === 'table'
    return isRow || this.#paragraph !== undefined
  }

  /** The paragraph that the line may belong to. */
  get #paragraph(): (Leaf & { readonly kind: 'paragraph' }) | undefined {
    const { leaf } = this.#blocks
    return leaf?.kind === 'paragraph' && !this.#hasLeft ? leaf : undefined
  }

  #goOn(): Line {
    const last = this.#paragraph?.last
    if (last !== undefined) {
      const { indent, rest } = this.#cursor
      const isTable = this.#isInside && indent < 4 && beginsTable(last, rest)
      // On the page, a row that is indented like code begins no table.
      this.#blocks.put(isTable ? { kind: 'table' } : { kind: 'paragraph', last: indent < 4 ? rest : '' })
    }
    return { kind: 'prose', goesOn: true, from: this.#cursor.at }
  }

  #leave(): void {
    if (!this.#hasLeft) this.#blocks.leave(this.#matched)
    this.#hasLeft = true
  }

  #begin(kind: Line['kind'], leaf: Leaf | undefined): Line {
    this.#leave()
    this.#blocks.put(leaf)
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
    // The text after opening backticks contains none; otherwise they are inline code.
    if (mark.length < 3 || (mark.startsWith('`') && rest.includes('`', mark.length))) return undefined
    // A page does not show the rest of this line, so the code begins below it.
    const info = this.#begin('info', { kind: 'fence', mark })
    return { ...info, from: this.#cursor.pastIndent + mark.length }
  }

  #html(rest: string): Line | undefined {
    const html = htmlBlockAt(rest, this.#paragraph === undefined)
    if (html === undefined) return undefined
    const isOver = html.closing?.test(rest) === true
    return this.#begin('html', isOver ? undefined : { kind: 'html', closing: html.closing })
  }

  /** A thematic break, or the underline of a heading. */
  #rule(rest: string): Line | undefined {
    if (this.#isInside && this.#paragraph !== undefined && SETEXT.test(rest)) {
      this.#blocks.put(undefined)
      return { kind: 'prose', goesOn: true, from: this.#cursor.at }
    }
    if (!THEMATIC.test(rest)) return undefined
    return this.#begin('blank', undefined)
  }

  /** Opens a quotation or a list item. True if one begins. */
  #container(rest: string): boolean {
    if (rest.startsWith('>')) {
      this.#leave()
      passQuote(this.#cursor)
      this.#blocks.enter({ kind: 'quote' })
      return true
    }
    const marker = MARKER.exec(rest)?.[0]
    if (marker === undefined) return false
    const interrupts = this.#isInside && this.#paragraph !== undefined
    if (interrupts && /^\d/.test(marker) && Number.parseInt(marker, 10) !== 1) return false
    if (interrupts && /^[ \t]*$/.test(rest.slice(marker.length))) return false
    this.#leave()
    const before = this.#cursor.indent
    this.#cursor.pass(marker.length)
    const after = this.#cursor.indent
    // More whitespace is the indentation of code.
    const isNarrow = after <= 4 && !this.#cursor.isBlank
    this.#cursor.passSpace(isNarrow ? after : 1)
    const columns = before + marker.length + (isNarrow ? after : 1)
    this.#blocks.enter({ kind: 'item', columns, isEmpty: true })
    return true
  }
}

const ATX = /^#{1,6}(?:[ \t]|$)/
const SETEXT = /^(?:=+|-+)[ \t]*$/
const THEMATIC = /^(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$/
const MARKER = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/

/** Moves past the mark of a quotation. True if there is one. */
export function passQuote(cursor: LineCursor): boolean {
  if (cursor.indent >= 4 || !cursor.rest.startsWith('>')) return false
  cursor.pass(1)
  cursor.passSpace(1)
  return true
}

/** The number of repetitions of the character at the start of the text. */
export function runOf(character: string, text: string): number {
  let length = 0
  while (text[length] === character) length += 1
  return length
}

/** An HTML block in a Markdown text. */
interface HtmlBlock {
  /** A pattern in its last line; `undefined` if an empty line ends it. */
  readonly closing: RegExp | undefined
}

/**
 * The block that a line begins, by the tags that CommonMark names. Any other tag begins one only if it is alone on the
 * line.
 */
function htmlBlockAt(line: string, mayBeAnyTag: boolean): HtmlBlock | undefined {
  const named = HTML.find(({ opening }) => opening.test(line))
  if (named !== undefined || !mayBeAnyTag) return named
  const tag = tagAt(line, 0, line.length)
  return tag !== undefined && /^\s*$/.test(line.slice(tag.end)) ? { closing: undefined } : undefined
}

const HTML: readonly (HtmlBlock & { readonly opening: RegExp })[] = [
  { opening: /^<(?:script|pre|style|textarea)(?:\s|>|$)/i, closing: /<\/(?:script|pre|style|textarea)>/i },
  { opening: /^<!--/, closing: /-->/ },
  { opening: /^<\?/, closing: /\?>/ },
  { opening: /^<![A-Za-z]/, closing: />/ },
  { opening: /^<!\[CDATA\[/, closing: /\]\]>/ },
  {
    opening:
      /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    closing: undefined,
  },
]
