import { styleText } from 'node:util'

/** Writes lines in three columns: the time, the event, and its subject. Colours only on a terminal. */
export class Screen {
  readonly #stream: NodeJS.WritableStream
  #zeroMs = 0

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream
  }

  /** Begins a part. The times of its steps count from `zeroMs`. */
  part(title: string, zeroMs: number): void {
    this.#zeroMs = zeroMs
    this.text('', this.#style('bold', title), '')
  }

  /** Writes an event, with the time since the part began. */
  step(word: string, about: string, atMs: number): void {
    const seconds = ((atMs - this.#zeroMs) / 1000).toFixed(2)
    this.#row(`${seconds.padStart(6)} s`, word, about)
  }

  /** Writes an event, with the time of day. */
  update(word: string, about: string): void {
    this.#row(new Date().toTimeString().slice(0, 8), word, about)
  }

  text(...lines: readonly string[]): void {
    this.#stream.write(lines.map((line) => `${line}\n`).join(''))
  }

  #row(when: string, word: string, about: string): void {
    this.text(`  ${this.#style('dim', when)}  ${this.#style('cyan', word.padEnd(10))} ${about}`)
  }

  #style(format: 'bold' | 'dim' | 'cyan', text: string): string {
    return styleText(format, text, { stream: this.#stream })
  }
}
