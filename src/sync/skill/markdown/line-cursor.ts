/**
 * A place in one line of a Markdown text. It counts whitespace in columns: a tab extends to the next multiple of four.
 */
export class LineCursor {
  readonly #text: string
  readonly #end: number
  #at: number
  #column = 0
  #ink = -1
  #inkColumn = 0

  constructor(text: string, start: number, end: number) {
    this.#text = text
    this.#at = start
    this.#end = end
  }

  /** The offset in the text. */
  get at(): number {
    return this.#at
  }

  /** The columns of whitespace from here to the next other character. */
  get indent(): number {
    this.#look()
    return this.#inkColumn - this.#column
  }

  /** True if only whitespace follows. */
  get isBlank(): boolean {
    this.#look()
    return this.#ink === this.#end
  }

  /** The offset after the whitespace. */
  get pastIndent(): number {
    this.#look()
    return this.#ink
  }

  /** The text after the whitespace. */
  get rest(): string {
    this.#look()
    return this.#text.slice(this.#ink, this.#end)
  }

  /** Moves past the whitespace and a number of characters after it. */
  pass(characters: number): void {
    this.#look()
    this.#at = this.#ink + characters
    this.#column = this.#inkColumn + characters
    this.#ink = -1
  }

  /** Moves past at most `columns` columns of whitespace, which may end inside a tab. */
  passSpace(columns: number): void {
    for (let left = columns; left > 0 && this.#at < this.#end;) {
      const width = widthOf(this.#text.charCodeAt(this.#at), this.#column)
      if (width === 0) break
      if (width <= left) this.#at += 1
      this.#column += Math.min(width, left)
      left -= width
    }
    this.#ink = -1
  }

  #look(): void {
    if (this.#ink !== -1) return
    let [at, column] = [this.#at, this.#column]
    for (; at < this.#end; at += 1) {
      const width = widthOf(this.#text.charCodeAt(at), column)
      if (width === 0) break
      column += width
    }
    this.#ink = at
    this.#inkColumn = column
  }
}

/** Zero for a character that is not whitespace. */
function widthOf(code: number, column: number): number {
  if (code === TAB) return 4 - (column % 4)
  return code === SPACE ? 1 : 0
}

const [TAB, SPACE] = [0x09, 0x20]
