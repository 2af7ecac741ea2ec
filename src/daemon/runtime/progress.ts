import type { Clock } from '../../base/async/clock.ts'
import { printableLine } from './log/log-line.ts'
import { Reaction } from './reaction.ts'

/** Shows the progress of a command to the user. Disposing clears it. */
export interface Progress extends Disposable {
  show(text: string): void
  /** Like `show`, with a bar of the parts that are done. */
  count(done: number, of: number, text: string): void
  /** Like `count`, for a text that changes often: a stream without a terminal does not get it. */
  countOften(done: number, of: number, text: string): void
}

export interface ProgressOptions {
  /** A terminal has one line that is rewritten; any other stream gets a line for each new text. */
  readonly stream: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number }
  readonly quiet: boolean
  readonly clock: Clock
}

export function createProgress({ stream, quiet, clock }: ProgressOptions): Progress {
  if (quiet) return SILENT
  return stream.isTTY === true ? new TerminalLine(stream, clock) : new Lines(stream)
}

const SILENT: Progress = { show: () => {}, count: () => {}, countOften: () => {}, [Symbol.dispose]: () => {} }

class Lines implements Progress {
  readonly #stream: ProgressOptions['stream']
  #shown = ''

  constructor(stream: ProgressOptions['stream']) {
    this.#stream = stream
  }

  show(text: string): void {
    const line = printableLine(text)
    if (line !== this.#shown && line !== '') this.#stream.write(`${line}\n`)
    this.#shown = line
  }

  count(_done: number, _of: number, text: string): void {
    this.show(text)
  }

  countOften(): void {}

  [Symbol.dispose](): void {}
}

/**
 * A line that shows, after a while, the time since the last change: fetching a large repository takes minutes and looks
 * like a hang.
 */
class TerminalLine implements Progress {
  readonly #stream: ProgressOptions['stream']
  readonly #clock: Clock
  readonly #ticks: Reaction
  #shown = ''
  #sinceMs = 0

  constructor(stream: ProgressOptions['stream'], clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.#ticks = new Reaction({ clock, run: async () => this.#tick(), againMs: () => TICK_MS })
  }

  show(text: string): void {
    const line = printableLine(text)
    if (line === this.#shown) return
    this.#shown = line
    this.#sinceMs = this.#clock.monotonicMs()
    this.#write(line)
    if (line !== '') this.#ticks.runWithin(TICK_MS)
  }

  count(done: number, of: number, text: string): void {
    this.show(`${bar(done, of)} ${text}`)
  }

  countOften(done: number, of: number, text: string): void {
    this.count(done, of, text)
  }

  [Symbol.dispose](): void {
    this.show('')
    void this.#ticks[Symbol.asyncDispose]()
  }

  #tick(): void {
    const seconds = Math.floor((this.#clock.monotonicMs() - this.#sinceMs) / 1000)
    if (this.#shown !== '' && seconds >= QUIET_S) this.#write(`${this.#shown}, for ${seconds} s`)
  }

  #write(line: string): void {
    this.#stream.write(CLEAR + cut(line, this.#stream.columns || 80))
  }
}

const TICK_MS = 1000

/** A shorter silence needs no explanation. */
const QUIET_S = 3

/** Moves to the start of the line and clears it. */
const CLEAR = '\r\u001B[2K'

const BAR = 20

function bar(done: number, of: number): string {
  const full = of === 0 ? BAR : Math.floor((Math.min(done, of) / of) * BAR)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`
}

/** A line that reaches the last column wraps, and only its last part would be rewritten. */
function cut(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2)).toWellFormed()}…`
}
