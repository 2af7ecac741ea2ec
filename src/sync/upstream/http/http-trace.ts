import { PAUSE_HEADERS } from './http-failure.ts'
import type { Head } from './http-failure.ts'

/** One request of git with the head of its answer. */
export interface Traced extends Head {
  readonly method: string
}

/**
 * Parses git's trace of its requests (GIT_TRACE_CURL) for details that its messages omit: the target of a redirect and
 * the requested delay. The trace stays in memory, because git masks no header except Authorization.
 */
export class HttpTrace {
  #method = ''
  #last: Traced | undefined
  #listing: Traced | undefined
  #headers = new Map<string, string>()
  #rest = ''

  /** The last answer. */
  get last(): Traced | undefined {
    return this.#last
  }

  /** The answer to the first request: git continues with another protocol if the host does not speak git's. */
  get listing(): Traced | undefined {
    return this.#listing
  }

  readonly heard = (part: string): void => {
    const lines = (this.#rest + part).split('\n')
    // git does not wrap lines, and a host can send a very long one.
    this.#rest = (lines.pop() ?? '').slice(0, LINE_CHARACTERS)
    for (const line of lines) this.#read(line)
  }

  #read(line: string): void {
    const [, arrow, text = ''] = LINE.exec(line) ?? []
    if (arrow === '=>') this.#readRequest(text)
    else if (arrow === '<=') this.#readAnswer(text)
  }

  #readRequest(text: string): void {
    this.#method = /^([A-Z]+) \S+ HTTP\/[\d.]+$/.exec(text)?.[1] ?? this.#method
  }

  #readAnswer(text: string): void {
    const status = /^HTTP\/[\d.]+ (\d{3})\b/.exec(text)?.[1]
    if (status !== undefined) return this.#begin(Number(status))
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(text) ?? []
    if (HEADERS.has(name.toLowerCase())) this.#headers.set(name.toLowerCase(), value)
  }

  #begin(status: number): void {
    const headers = new Map<string, string>()
    this.#headers = headers
    // An interim answer (103 Early Hints) does not count.
    if (status < 200) return
    const answer = { method: this.#method, status, header: (name: string) => headers.get(name) }
    this.#last = answer
    if (answer.method === 'GET') this.#listing ??= answer
  }
}

/** Each line starts with the time and the place in git's source, so a host cannot start a line. */
const LINE = /^\S+ \S+ +(=>|<=) (?:Send|Recv) header: ([^\r]*)\r?$/

const HEADERS: ReadonlySet<string> = new Set(['content-type', 'location', ...PAUSE_HEADERS])

const LINE_CHARACTERS = 65_536
