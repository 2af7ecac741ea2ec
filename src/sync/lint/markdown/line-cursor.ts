/** A place in one line of a Markdown text, where white space is counted in columns: a tab reaches to the next fourth one. */
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

  /** Offset in the text. */
  get at(): number {
    return this.#at
  }

  /** Columns of white space from here to what follows it. */
  get indent(): number {
    this.#look()
    return this.#inkColumn - this.#column
  }

  /** Whether only white space follows. */
  get isBlank(): boolean {
    this.#look()
    return this.#ink === this.#end
  }

  /** Offset of what follows the white space. */
  get pastIndent(): number {
    this.#look()
    return this.#ink
  }

  /** What follows the white space. */
  get rest(): string {
    this.#look()
    return this.#text.slice(this.#ink, this.#end)
  }

  /** Past white space and so many characters that follow it. */
  pass(characters: number): void {
    this.#look()
    this.#at = this.#ink + characters
    this.#column = this.#inkColumn + characters
    this.#ink = -1
  }

  /** Past so many columns of white space, or part of a tab, as far as there are any. */
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

/** Zero for what is no white space. */
function widthOf(code: number, column: number): number {
  if (code === TAB) return 4 - (column % 4)
  return code === SPACE ? 1 : 0
}

const [TAB, SPACE] = [0x09, 0x20]
