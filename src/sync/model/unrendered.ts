import { Buffer } from 'node:buffer'

/** Text of a Markdown file that its rendered page does not show. */
export interface Unrendered {
  readonly what: 'comment' | 'image text'
  /** Where it begins in the text. */
  readonly offset: number
  /** The same, counted from 1. */
  readonly line: number
  readonly characters: number
}

/** HTML comments, and the alternative texts and titles of images, that are long enough to tell a model what to do. */
export function unrenderedIn(document: Uint8Array): Unrendered[] {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength)
  if (!bytes.includes('<!--') && !bytes.includes('![')) return []
  return unrenderedInText(bytes.toString('utf8'))
}

/** The same of a text. Takes time in proportion to it, whatever it is: it is asked in a process that has clients waiting. */
export function unrenderedInText(text: string): Unrendered[] {
  const found: Omit<Unrendered, 'line'>[] = []
  for (const hidden of new Search(text).all()) {
    found.push(hidden)
    if (found.length === MOST) break
  }
  return withLines(found, text)
}

const MOST = 16

/** What fits in less is a marker for tools, such as `prettier-ignore`; an instruction takes more words. */
const SHORT_CHARACTERS = 40

/** A good alternative text is a sentence. */
const LONG_IMAGE_TEXT = 150

class Search {
  readonly #text: string
  /** Brackets that are open, the innermost last: where the image begins, or `NO_IMAGE`. */
  readonly #open: number[] = []
  readonly #ink: Ahead
  readonly #angle: Ahead
  /** Of targets in angle brackets, which reach over others, and of all others: in each the questions ascend. */
  readonly #titles: { readonly angled: Titles; readonly plain: Titles }

  constructor(text: string) {
    this.#text = text
    this.#ink = new Ahead(text, isInk)
    this.#angle = new Ahead(text, (code) => code === MORE)
    this.#titles = { angled: new Titles(text), plain: new Titles(text) }
  }

  *all(): Generator<Omit<Unrendered, 'line'>> {
    const text = this.#text
    for (let at = 0; at < text.length; at += 1) {
      switch (text.charCodeAt(at)) {
        case LESS: {
          if (!text.startsWith('<!--', at)) break
          const close = text.indexOf('-->', at + 4)
          // One that is not closed hides all that follows.
          const end = close === -1 ? text.length : close
          const characters = text.slice(at + 4, end).trim().length
          if (characters >= SHORT_CHARACTERS) yield { what: 'comment', offset: at, characters }
          at = end
          break
        }
        case BACKSLASH:
          if (isBracketOrEscape(text.charCodeAt(at + 1))) at += 1
          break
        case FEED:
          if (this.#open.length > 0 && this.#isBlankAfter(at)) this.#open.length = 0
          break
        case BANG:
          if (text.charCodeAt(at + 1) !== OPENING) break
          this.#push(at)
          at += 1
          break
        case OPENING:
          this.#push(NO_IMAGE)
          break
        case CLOSING: {
          const start = this.#open.pop() ?? NO_IMAGE
          const characters = start === NO_IMAGE ? 0 : this.#longestOf(start, at)
          if (characters >= LONG_IMAGE_TEXT) yield { what: 'image text', offset: start, characters }
          break
        }
        default:
      }
    }
  }

  /** Deeper ones than anybody writes are forgotten, the outermost first. */
  #push(start: number): void {
    this.#open.push(start)
    if (this.#open.length > 2 * MOST_OPEN) this.#open.splice(0, MOST_OPEN)
  }

  /** No image reaches over an empty line. */
  #isBlankAfter(feed: number): boolean {
    let at = feed + 1
    while (isBlank(this.#text.charCodeAt(at))) at += 1
    return this.#text.charCodeAt(at) === FEED
  }

  /** Of the alternative text and the title. Zero for brackets that are followed by neither a target nor a label. */
  #longestOf(start: number, close: number): number {
    const after = this.#text[close + 1]
    if (after !== '(' && after !== '[') return 0
    const title = after === '(' ? this.#titleFrom(close + 2) : 0
    return Math.max(this.#text.slice(start + 2, close).trim().length, title)
  }

  #titleFrom(start: number): number {
    const target = this.#ink.from(start)
    if (target === undefined) return 0
    if (this.#text[target] !== '<') return this.#titles.plain.charactersAfter(target)
    const end = this.#angle.from(target)
    return end === undefined ? 0 : this.#titles.angled.charactersAfter(end)
  }
}

/** The titles that follow targets. */
class Titles {
  readonly #text: string
  readonly #end: Ahead
  readonly #ink: Ahead
  readonly #closings: ReadonlyMap<string, Ahead>

  constructor(text: string) {
    this.#text = text
    this.#end = new Ahead(text, (code) => code <= SPACE || code === CLOSE)
    this.#ink = new Ahead(text, isInk)
    this.#closings = new Map([
      ['"', new Ahead(text, (code, at) => code === DOUBLE && !isEscaped(text, at))],
      ["'", new Ahead(text, (code, at) => code === SINGLE && !isEscaped(text, at))],
      ['(', new Ahead(text, (code, at) => code === CLOSE && !isEscaped(text, at))],
    ])
  }

  /** How many characters the title has that follows the target here; zero where none does. */
  charactersAfter(target: number): number {
    const end = this.#end.from(target)
    if (end === undefined || this.#text[end] === ')') return 0
    const quote = this.#ink.from(end)
    if (quote === undefined) return 0
    const close = this.#closings.get(this.#text[quote] ?? '')?.from(quote + 1)
    return close === undefined ? 0 : this.#text.slice(quote + 1, close).trim().length
  }
}

const [TAB, FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20]
const [BANG, DOUBLE, SINGLE, CLOSE, LESS, MORE] = [0x21, 0x22, 0x27, 0x29, 0x3c, 0x3e]
const [OPENING, BACKSLASH, CLOSING] = [0x5b, 0x5c, 0x5d]
const NO_IMAGE = -1
const MOST_OPEN = 1_000

function isBracketOrEscape(code: number): boolean {
  return code === OPENING || code === CLOSING || code === BACKSLASH || code === BANG
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB || code === RETURN
}

function isInk(code: number): boolean {
  return code > SPACE
}

function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

/** The next character of a kind from anywhere on. Asked in ascending order, it looks at each part of the text once. */
class Ahead {
  readonly #text: string
  readonly #isMeant: (code: number, at: number) => boolean
  #asked = 0
  #found = -1

  constructor(text: string, isMeant: (code: number, at: number) => boolean) {
    this.#text = text
    this.#isMeant = isMeant
  }

  from(start: number): number | undefined {
    if (start < this.#asked || start > this.#found) {
      let at = start
      while (at < this.#text.length && !this.#isMeant(this.#text.charCodeAt(at), at)) at += 1
      this.#asked = start
      this.#found = at
    }
    return this.#found < this.#text.length ? this.#found : undefined
  }
}

/** In order of place. */
function withLines(found: readonly Omit<Unrendered, 'line'>[], text: string): Unrendered[] {
  let [line, feed] = [1, text.indexOf('\n')]
  return found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ what, offset, characters }) => {
      for (; feed !== -1 && feed < offset; feed = text.indexOf('\n', feed + 1)) line += 1
      return { what, offset, line, characters }
    })
}
