import { jsonWeightOf } from './json-weight.ts'

/**
 * Splits a stream of bytes into lines, each limited in its bytes and in its JSON weight. A longer line is skipped; the
 * callback gets its start, its end and its size.
 */
export class LineFrames {
  readonly #limit: number
  readonly #whole: (line: string) => void
  readonly #over: (start: string, end: string, size: number) => void
  #parts: Buffer[] = []
  #size = 0
  /** The last bytes of a line that is being skipped. */
  #end = Buffer.alloc(0)

  constructor(limit: number, whole: (line: string) => void, over: (start: string, end: string, size: number) => void) {
    this.#limit = limit
    this.#whole = whole
    this.#over = over
  }

  /** The size in bytes of the line whose end did not come yet. */
  get size(): number {
    return this.#size
  }

  push(bytes: Buffer): void {
    let from = 0
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      this.#take(bytes.subarray(from, at))
      this.#close()
      from = at + 1
    }
    this.#take(bytes.subarray(from))
  }

  #take(part: Buffer): void {
    if (part.length === 0) return
    this.#size += part.length
    if (this.#size > this.#limit) this.#skip(part)
    else this.#parts.push(part)
  }

  #skip(part: Buffer): void {
    // Of the buffered parts only the start is needed.
    if (this.#parts.length > 1) this.#parts = this.#parts.slice(0, 1)
    if (this.#parts.length === 0) this.#parts.push(Buffer.from(part.subarray(0, RIM_BYTES)))
    this.#end = Buffer.concat([this.#end, part.subarray(-RIM_BYTES)]).subarray(-RIM_BYTES)
  }

  #close(): void {
    const [parts, size, end] = [this.#parts, this.#size, this.#end]
    this.#parts = []
    this.#size = 0
    this.#end = Buffer.alloc(0)
    if (size > this.#limit)
      return this.#over(parts[0]?.toString('latin1', 0, RIM_BYTES) ?? '', end.toString('latin1'), size)
    const line = Buffer.concat(parts)
    if (jsonWeightOf(line) <= this.#limit) this.#whole(line.toString('utf8'))
    else this.#over(line.toString('latin1', 0, RIM_BYTES), line.subarray(-RIM_BYTES).toString('latin1'), size)
  }
}

const NEWLINE = 0x0a

/** Large enough for what JSON-RPC puts before and after a result. */
const RIM_BYTES = 256
