/** A position in a file. Counted from 1; columns in UTF-16 units, as in editors. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** The position of anything without a more exact one. */
export const START: TextPosition = { line: 1, column: 1 }

/** Converts offsets in a text to positions. */
export class Lines {
  readonly #starts: readonly number[]
  readonly #length: number
  /** A byte order mark is in the text, but editors give it no column. */
  readonly #mark: number

  constructor(text: string) {
    const starts = [0]
    for (let feed = text.indexOf('\n'); feed !== -1; feed = text.indexOf('\n', feed + 1)) starts.push(feed + 1)
    this.#starts = starts
    this.#length = text.length
    this.#mark = text.startsWith('\uFEFF') ? 1 : 0
  }

  /** The number of lines. Text after the last newline counts as a line only if it is not empty. */
  get count(): number {
    return this.#starts.at(-1) === this.#length ? this.#starts.length - 1 : this.#starts.length
  }

  /** The offset at which a line, counted from 1, begins. */
  startOf(line: number): number {
    return this.#starts[Math.min(line, this.#starts.length) - 1] ?? 0
  }

  at(offset: number): TextPosition {
    const wanted = Math.min(Math.max(offset, 0), this.#length)
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#starts[middle] ?? 0) <= wanted) low = middle
      else high = middle - 1
    }
    const start = low === 0 ? this.#mark : (this.#starts[low] ?? 0)
    return { line: low + 1, column: Math.max(wanted - start, 0) + 1 }
  }
}
