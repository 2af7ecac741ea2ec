/** A run of lines of a Markdown text that is prose: offsets in the text. */
export interface Prose {
  readonly start: number
  readonly end: number
}

/**
 * The parts of a Markdown text that are neither fenced nor indented code nor a comment, each a paragraph, a heading or a table.
 * One pass over the lines: no text takes longer than its length says. Where it is not sure, it takes a line for prose.
 */
export function* proseIn(text: string, start: number): Generator<Prose> {
  let prose: { start: number; end: number } | undefined
  for (const { start: at, end, kind } of linesIn(text, start)) {
    if (prose !== undefined && kind !== 'goes on') {
      yield prose
      prose = undefined
    }
    if (prose !== undefined) prose.end = end
    else if (kind === 'begins' || kind === 'goes on') prose = { start: at, end }
  }
  if (prose !== undefined) yield prose
}

/** The lines of a text from `start` on that are code, counted from the one that begins there, which is 0. */
export function codeLinesIn(text: string, start: number): ReadonlySet<number> {
  const code = new Set<number>()
  let line = 0
  for (const { kind } of linesIn(text, start)) {
    if (kind === 'code') code.add(line)
    line += 1
  }
  return code
}

/** `begins`: prose that does not belong to the line before. */
type Kind = 'begins' | 'goes on' | 'code' | 'comment' | 'blank'

function* linesIn(text: string, start: number): Generator<Prose & { readonly kind: Kind }> {
  const reader = new Reader()
  for (let at = start; at < text.length;) {
    const feed = text.indexOf('\n', at)
    const end = feed === -1 ? text.length : feed
    yield { start: at, end, kind: reader.kindOf(text, at, end) }
    at = end + 1
  }
}

class Reader {
  #fence: { readonly mark: string; readonly length: number; readonly quoted: boolean } | undefined
  #isComment = false
  #wasBlank = true
  /** How far the text of the list item that we are in is indented; undefined outside of lists. */
  #listIndent: number | undefined

  kindOf(text: string, start: number, end: number): Kind {
    if (start === end && this.#fence === undefined && !this.#isComment) return this.#blank()
    // What says which kind a line is stands at its beginning; long lines are prose.
    const head = text.slice(start, Math.min(end, start + HEAD)).replace(/\r$/, '')
    if (this.#isComment) return this.#inComment(text, start, end)
    const { indent, quoted, item, rest } = opened(head)
    if (this.#fence !== undefined) return this.#inFence(rest, quoted)
    if (rest.trim() === '') return this.#blank()
    const isCode = this.#isIndentedCode(indent, item)
    if (item !== undefined) this.#listIndent = item
    else if (indent === 0 && this.#wasBlank) this.#listIndent = undefined
    const wasBlank = this.#wasBlank
    this.#wasBlank = false
    const fence = FENCE.exec(rest)?.groups
    if (fence !== undefined && !isCode) return this.#open(fence['mark'] ?? '', quoted)
    if (isCode) {
      this.#wasBlank = wasBlank
      return 'code'
    }
    if (rest.startsWith('<!--') && !text.slice(start, end).includes('-->')) return this.#openComment()
    return wasBlank || item !== undefined || rest.startsWith('#') ? 'begins' : 'goes on'
  }

  #open(mark: string, quoted: boolean): Kind {
    this.#fence = { mark: mark.charAt(0), length: mark.length, quoted }
    return 'code'
  }

  #openComment(): Kind {
    this.#isComment = true
    return 'comment'
  }

  #inComment(text: string, start: number, end: number): Kind {
    if (text.slice(start, end).includes('-->')) this.#isComment = false
    return 'comment'
  }

  #inFence(rest: string, quoted: boolean): Kind {
    const fence = this.#fence
    // A fence ends with the quotation that it stands in.
    const isLeft = fence?.quoted === true && !quoted
    const isClosed =
      fence !== undefined && /^(?:`+|~+)\s*$/.test(rest) && rest.startsWith(fence.mark.repeat(fence.length))
    if (isLeft || isClosed) {
      this.#fence = undefined
      this.#wasBlank = true
    }
    return 'code'
  }

  #blank(): Kind {
    this.#wasBlank = true
    return 'blank'
  }

  /** Indented by four more than what is around it, and after a blank line: a paragraph that goes on may be indented as it likes. */
  #isIndentedCode(indent: number, item: number | undefined): boolean {
    return this.#wasBlank && item === undefined && indent >= (this.#listIndent ?? 0) + 4
  }
}

const HEAD = 512

/** A fence of backticks has none in what follows it on its line. */
const FENCE = /^(?<mark>`{3,}(?=[^`]*$)|~{3,})/

interface Opened {
  /** Columns of white space before the text, or before the marker of a list item. */
  readonly indent: number
  readonly quoted: boolean
  /** Where the text of the list item that begins here is indented to. */
  readonly item: number | undefined
  readonly rest: string
}

/** Takes away what stands before the text of a line: quotation marks and markers of lists. */
function opened(head: string): Opened {
  const { 0: quote } = /^(?: {0,3}> ?)*/.exec(head) ?? ['']
  const unquoted = head.slice(quote.length)
  const { 0: space } = /^[ \t]*/.exec(unquoted) ?? ['']
  const indent = widthOf(space)
  let [rest, item] = [unquoted.slice(space.length), undefined as number | undefined]
  for (let marker = MARKER.exec(rest); marker !== null; marker = MARKER.exec(rest)) {
    item = (item ?? indent) + widthOf(marker[0])
    rest = rest.slice(marker[0].length)
  }
  return { indent, quoted: quote !== '', item, rest }
}

const MARKER = /^(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}(?=\S)/

function widthOf(space: string): number {
  let width = 0
  for (const character of space) width += character === '\t' ? 4 - (width % 4) : 1
  return width
}
