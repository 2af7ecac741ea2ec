import type { Head } from './http-failure.ts'

/** One request that git made, and what came back as far as its head. */
export interface Traced extends Head {
  readonly method: string
}

/**
 * Reads what git traces of its requests (GIT_TRACE_CURL), for what its messages leave out: where a redirect leads and how
 * long to stay away. It goes through memory alone, since git hides no header but Authorization.
 */
export class HttpTrace {
  #method = ''
  #last: Traced | undefined
  #listing: Traced | undefined
  #headers = new Map<string, string>()
  #rest = ''

  /** The last answer that came. */
  get last(): Traced | undefined {
    return this.#last
  }

  /** The answer to the first thing that is asked: git goes on with whoever does not speak its protocol, in another. */
  get listing(): Traced | undefined {
    return this.#listing
  }

  readonly heard = (part: string): void => {
    const lines = (this.#rest + part).split('\n')
    // git breaks no line, and a host can send one that is very long.
    this.#rest = (lines.pop() ?? '').slice(0, LINE_CHARACTERS)
    for (const line of lines) this.#read(line)
  }

  #read(line: string): void {
    const [, arrow, text = ''] = LINE.exec(line) ?? []
    if (arrow === '=>') this.#sent(text)
    else if (arrow === '<=') this.#received(text)
  }

  #sent(text: string): void {
    this.#method = /^([A-Z]+) \S+ HTTP\/[\d.]+$/.exec(text)?.[1] ?? this.#method
  }

  #received(text: string): void {
    const status = /^HTTP\/[\d.]+ (\d{3})\b/.exec(text)?.[1]
    if (status !== undefined) return this.#begin(Number(status))
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(text) ?? []
    if (HEADERS.has(name.toLowerCase())) this.#headers.set(name.toLowerCase(), value)
  }

  #begin(status: number): void {
    const headers = new Map<string, string>()
    this.#headers = headers
    // A word before the answer (103 Early Hints) is none.
    if (status < 200) return
    const answer = { method: this.#method, status, header: (name: string) => headers.get(name) }
    this.#last = answer
    if (answer.method === 'GET') this.#listing ??= answer
  }
}

/** Time and place in git's source come first. What a host sends begins no line. */
const LINE = /^\S+ \S+ +(=>|<=) (?:Send|Recv) header: ([^\r]*)\r?$/

const HEADERS: ReadonlySet<string> = new Set(['content-type', 'date', 'location', 'retry-after'])

const LINE_CHARACTERS = 65_536
