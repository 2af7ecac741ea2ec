import type { Span } from './markdown-blocks.ts'

/** The lines of a block as one text. Maps each position back to the original text. */
export class MarkdownContent {
  readonly text: string
  readonly #lines: readonly Span[]
  /** The offset in `text` at which each line begins. */
  readonly #starts: readonly number[]

  constructor(whole: string, lines: readonly Span[]) {
    let length = 0
    const starts: number[] = []
    for (const { start, end } of lines) {
      starts.push(length)
      length += end - start + 1
    }
    this.text = lines.map(({ start, end }) => whole.slice(start, end)).join('\n')
    this.#lines = lines
    this.#starts = starts
  }

  offsetOf(at: number): number {
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return (this.#lines[low]?.start ?? 0) + at - (this.#starts[low] ?? 0)
  }
}
