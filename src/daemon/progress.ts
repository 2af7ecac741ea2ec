import { printable } from './log-line.ts'

/** Where a command has got to, for whoever looks on. Disposing takes it away again. */
export interface Progress extends Disposable {
  show(text: string): void
}

export interface ProgressOptions {
  /** A terminal has one line that is written anew; any other stream gets a line for each text that is new. */
  readonly stream: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number }
  readonly quiet: boolean
}

export function createProgress({ stream, quiet }: ProgressOptions): Progress {
  let shown = ''
  const write = (text: string): void => {
    if (quiet || text === shown) return
    shown = text
    if (stream.isTTY === true) stream.write(CLEAR + cut(text, stream.columns ?? 80))
    else if (text !== '') stream.write(`${text}\n`)
  }
  return { show: (text) => write(printable(text)), [Symbol.dispose]: () => write('') }
}

/** To the start of the line, and nothing on it. */
const CLEAR = '\r\u001B[2K'

/** A line that reaches the last column wraps, and only its last part would be written anew. */
function cut(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2)).toWellFormed()}…`
}
