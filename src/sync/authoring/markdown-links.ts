import { proseIn } from './markdown-blocks.ts'
import type { Prose } from './markdown-blocks.ts'

/** Where a Markdown text links to: links, images, definitions of references, and addresses in angle brackets. */
export interface MarkdownLink {
  /** As it is meant: escapes are resolved, percent signs are not. */
  readonly target: string
  /** Of the target in the text. */
  readonly offset: number
}

/**
 * The links of a Markdown text, from `start` on. Code and comments hold none. Takes time in proportion to the text whatever it
 * is, which the Markdown parsers that tell places do not: twenty thousand characters of emphasis cost one of them four seconds.
 */
export function* linksIn(text: string, start = 0): Generator<MarkdownLink> {
  for (const prose of proseIn(text, start)) {
    yield* definitionsIn(text, prose)
    yield* new Inline(text, prose).links()
  }
}

/** `[label]: target`; what begins with `[^` is a footnote. */
function* definitionsIn(text: string, { start, end }: Prose): Generator<MarkdownLink> {
  for (let at = start; at < end;) {
    const feed = text.indexOf('\n', at)
    const lineEnd = feed === -1 ? end : Math.min(feed, end)
    DEFINITION.lastIndex = at
    const found = DEFINITION.exec(text)
    if (found?.groups !== undefined && DEFINITION.lastIndex <= lineEnd) {
      const raw = found.groups['target'] ?? ''
      const isBracketed = raw.startsWith('<')
      const offset = at + found[0].length - raw.length + (isBracketed ? 1 : 0)
      yield { target: unescaped(isBracketed ? raw.slice(1, -1) : raw), offset }
    }
    at = lineEnd + 1
  }
}

/** No space can belong to two of its parts: a line of quotation marks would be tried in every division of them. */
const DEFINITION =
  /(?:[ ]{0,4}>)*[ ]{0,8}\[(?!\^)[^\]\n\\]{1,999}\]:[ \t]{0,100}(?<target><[^<>\n]{0,2000}>|[^\s<][^\s]{0,2000})/y

class Inline {
  readonly #text: string
  readonly #end: number
  #at: number
  /** Brackets that are open. */
  #depth = 0
  /** Where runs of backticks of a length begin; undefined until one is met. */
  #runs: Map<number, number[]> | undefined

  constructor(text: string, { start, end }: Prose) {
    this.#text = text
    this.#at = start
    this.#end = end
  }

  *links(): Generator<MarkdownLink> {
    while (this.#at < this.#end) {
      const found = this.#step()
      if (found !== undefined) yield found
    }
  }

  #step(): MarkdownLink | undefined {
    const character = this.#text[this.#at]
    switch (character) {
      case '\\':
        this.#at += 2
        return undefined
      case '`':
        this.#passCode()
        return undefined
      case '<':
        return this.#bracket()
      case '[':
        this.#depth += 1
        break
      case ']':
        this.#at += 1
        if (this.#depth === 0) return undefined
        this.#depth -= 1
        return this.#text[this.#at] === '(' ? this.#target() : undefined
      default:
    }
    this.#at += 1
    return undefined
  }

  /** To the end of the code; a run of backticks that nothing closes is text. */
  #passCode(): void {
    const length = this.#runAt(this.#at)
    const after = this.#at + length
    const starts = this.#runsOf(length)
    while (starts.length > 0 && (starts.at(-1) ?? 0) < after) starts.pop()
    const close = starts.at(-1)
    this.#at = close === undefined ? after : close + length
  }

  #runAt(start: number): number {
    let at = start
    while (at < this.#end && this.#text[at] === '`') at += 1
    return at - start
  }

  /** The last first, so that those behind us are taken away at no cost. */
  #runsOf(length: number): number[] {
    if (this.#runs === undefined) {
      this.#runs = new Map()
      for (let at = this.#text.indexOf('`', this.#at); at !== -1 && at < this.#end; at = this.#text.indexOf('`', at)) {
        const run = this.#runAt(at)
        const known = this.#runs.get(run)
        if (known === undefined) this.#runs.set(run, [at])
        else known.push(at)
        at += run
      }
      for (const starts of this.#runs.values()) starts.reverse()
    }
    return this.#runs.get(length) ?? []
  }

  /** An address in angle brackets, or a comment; all else is a bracket. */
  #bracket(): MarkdownLink | undefined {
    const start = this.#at
    this.#at += 1
    if (this.#text.startsWith('!--', this.#at)) {
      const close = this.#text.slice(this.#at, this.#end).indexOf('-->')
      this.#at = close === -1 ? this.#end : this.#at + close + 3
      return undefined
    }
    ADDRESS.lastIndex = start
    const target = ADDRESS.exec(this.#text)?.groups?.['target']
    if (target === undefined || ADDRESS.lastIndex > this.#end) return undefined
    this.#at = ADDRESS.lastIndex
    return { target, offset: start + 1 }
  }

  /** What stands in the parentheses after a link's text; without a target that is closed they are text. */
  #target(): MarkdownLink | undefined {
    const open = this.#at
    this.#at += 1
    const start = this.#pastSpace(open + 1)
    const isBracketed = this.#text[start] === '<'
    const end = isBracketed ? this.#bracketedEnd(start + 1) : this.#plainEnd(start)
    if (end === undefined) return undefined
    const close = this.#closeOf(isBracketed ? end + 1 : end)
    if (close === undefined) return undefined
    this.#at = close + 1
    const offset = isBracketed ? start + 1 : start
    return { target: unescaped(this.#text.slice(offset, end)), offset }
  }

  #pastSpace(start: number): number {
    let at = start
    while (at < this.#end && isSpace(this.#text.charCodeAt(at))) at += 1
    return at
  }

  #bracketedEnd(start: number): number | undefined {
    for (let at = start; at < this.#end; at += 1) {
      const character = this.#text[at]
      if (character === '>') return at
      if (character === '<' || character === '\n') return undefined
      if (character === '\\') at += 1
    }
    return undefined
  }

  /** To the white space or the parenthesis that ends it; those that it holds are in pairs, and few. */
  #plainEnd(start: number): number | undefined {
    let depth = 0
    for (let at = start; at < this.#end; at += 1) {
      const code = this.#text.charCodeAt(at)
      if (code <= SPACE) return at
      if (code === BACKSLASH) at += 1
      if (code === CLOSE && depth === 0) return at
      if (code === CLOSE) depth -= 1
      if (code === OPEN && (depth += 1) > MOST_PARENTHESES) return undefined
    }
    return undefined
  }

  /** The closing parenthesis, past a title if there is one. */
  #closeOf(end: number): number | undefined {
    const at = this.#pastSpace(end)
    if (this.#text[at] === ')') return at
    const quote = this.#text[at]
    const closing = quote === '(' ? ')' : quote
    if (at === end || (quote !== '"' && quote !== "'" && quote !== '(')) return undefined
    const length = this.#text.slice(at + 1, Math.min(this.#end, at + 1 + LONGEST_TITLE)).indexOf(closing ?? '')
    if (length === -1) return undefined
    const close = this.#pastSpace(at + length + 2)
    return close < this.#end && this.#text[close] === ')' ? close : undefined
  }
}

const ADDRESS = /<(?<target>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)>/y
const [SPACE, OPEN, CLOSE, BACKSLASH] = [0x20, 0x28, 0x29, 0x5c]

/** Deeper ones are in no address, and each link that is tried costs no more than this allows. */
const MOST_PARENTHESES = 32
const LONGEST_TITLE = 1_000

function isSpace(code: number): boolean {
  return code === SPACE || code === 0x09 || code === 0x0a || code === 0x0d
}

function unescaped(target: string): string {
  return target.replace(/\\([!-/:-@[-`{-~])/g, '$1').replaceAll('&amp;', '&')
}
