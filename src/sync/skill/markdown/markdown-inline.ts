import { tagAt, attributeTexts } from './html-tag.ts'
import { pastSpace, targetAt, targetsOf, titleEnd } from './markdown-target.ts'
import type { MarkdownTarget } from './markdown-target.ts'

/** A part of a paragraph that is not plain text. */
export type MarkdownInline =
  | MarkdownTarget
  /** Text between brackets, which is a link if a definition has this label. */
  | { readonly kind: 'label'; readonly text: string }
  | MarkdownSpan

/**
 * `code`: with its marks. `comment`: an HTML comment, instruction or declaration, with its marks. `image`: its
 * alternative text. `title`: of a link or an image, without its quotes. `address`: a `target` in its original spelling.
 * `attribute`: the words of an HTML attribute.
 */
export interface MarkdownSpan {
  readonly kind: 'code' | 'comment' | 'image' | 'title' | 'address' | 'attribute'
  readonly start: number
  readonly end: number
}

/**
 * Reads a paragraph from `start` on. Takes linear time for any text, unlike the Markdown parsers that report positions:
 * twenty thousand characters of emphasis take one of them four seconds.
 */
export function* inlinesIn(text: string, start: number): Generator<MarkdownInline> {
  yield* new InlineReader(text, start).read()
}

class InlineReader {
  readonly #text: string
  #at: number
  /** The places of open brackets, each the offset after the bracket. An image has a negative number. */
  readonly #open: number[] = []
  /** The start of the text of the innermost bracket; `undefined` after a closed bracket. */
  #label: number | undefined
  /** The starts of backtick runs by length; `undefined` until the first one is read. */
  #runs: Map<number, number[]> | undefined
  /** The next place of each text, from the start of its last search. */
  readonly #next = new Map<string, number>()

  constructor(text: string, start: number) {
    this.#text = text
    this.#at = start
  }

  *read(): Generator<MarkdownInline> {
    while (this.#findMark()) {
      switch (this.#text.charCodeAt(this.#at)) {
        case BACKSLASH:
          this.#at += 2
          break
        case BACKTICK:
          yield* this.#code()
          break
        case LESS:
          yield* this.#bracket()
          break
        case BANG:
          if (this.#text.charCodeAt(this.#at + 1) === OPENING) this.#opening(this.#at + 1, IMAGE)
          else this.#at += 1
          break
        case OPENING:
          this.#opening(this.#at, LINK)
          break
        case CLOSING:
          yield* this.#closing()
          break
      }
    }
  }

  /** Moves to the next character that may be more than text. False if there is none. */
  #findMark(): boolean {
    MARK.lastIndex = this.#at
    if (!MARK.test(this.#text)) return false
    this.#at = MARK.lastIndex - 1
    return true
  }

  #opening(at: number, kind: typeof IMAGE | typeof LINK): void {
    this.#at = at + 1
    this.#label = this.#at
    this.#open.push(kind * this.#at)
  }

  /** Reads to the end of the code. A run of backticks without a closing run is text. */
  *#code(): Generator<MarkdownInline> {
    const start = this.#at
    const length = this.#runAt(start)
    const starts = this.#runsOf(length)
    while (starts.length > 0 && (starts.at(-1) ?? 0) < start + length) starts.pop()
    const close = starts.at(-1)
    this.#at = close === undefined ? start + length : close + length
    if (close !== undefined) yield { kind: 'code', start, end: this.#at }
  }

  #runAt(start: number): number {
    let at = start
    while (this.#text.charCodeAt(at) === BACKTICK) at += 1
    return at - start
  }

  /** Last first, so that dropping the passed ones is cheap. */
  #runsOf(length: number): number[] {
    if (this.#runs === undefined) {
      this.#runs = new Map()
      for (let at = this.#text.indexOf('`', this.#at); at !== -1; at = this.#text.indexOf('`', at)) {
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

  /** Reads an address or HTML in angle brackets; any other bracket is text. */
  *#bracket(): Generator<MarkdownInline> {
    const start = this.#at
    for (const form of [ADDRESS, MAIL]) {
      form.lastIndex = start
      const target = form.exec(this.#text)?.groups?.['target']
      if (target === undefined) continue
      this.#at = form.lastIndex
      if (form === ADDRESS) yield { kind: 'target', target, at: start + 1 }
      return
    }
    const tag = tagAt(this.#text, start, this.#text.length)
    const markup = tag === undefined ? this.#pastMarkup(start) : undefined
    this.#at = tag?.end ?? markup ?? start + 1
    if (tag !== undefined) {
      yield* targetsOf(this.#text, tag)
      for (const { start: from, end } of attributeTexts(tag)) yield { kind: 'attribute', start: from, end }
    }
    if (markup !== undefined) yield { kind: 'comment', start, end: markup }
  }

  /** The end of a comment, an instruction or a declaration. */
  #pastMarkup(start: number): number | undefined {
    const short = EMPTY_COMMENTS.find((comment) => this.#text.startsWith(comment, start))
    if (short !== undefined) return start + short.length
    const markup = MARKUP.find(({ opening }) => this.#text.startsWith(opening, start))
    if (markup === undefined) return undefined
    const { opening, closing } = markup
    if (opening === '<!' && !/[A-Za-z]/.test(this.#text[start + 2] ?? '')) return undefined
    const end = this.#nextOf(closing, start + opening.length)
    return end === -1 ? undefined : end + closing.length
  }

  #nextOf(what: string, start: number): number {
    const known = this.#next.get(what)
    if (known !== undefined && (known === -1 || known >= start)) return known
    const found = this.#text.indexOf(what, start)
    this.#next.set(what, found)
    return found
  }

  *#closing(): Generator<MarkdownInline> {
    const [label, close, opening] = [this.#label, this.#at, this.#open.pop()]
    this.#at += 1
    this.#label = undefined
    if (opening === undefined) return
    const next = this.#text.charCodeAt(this.#at)
    const found = next === OPEN ? this.#target() : []
    if (opening < 0 && (found.length > 0 || next === OPENING)) yield { kind: 'image', start: -opening, end: close }
    yield* found
    if (found.length === 0 && label !== undefined) yield { kind: 'label', text: this.#text.slice(label, close) }
  }

  /** The content of the parentheses after a link's text; without a closed target they are text. */
  #target(): readonly MarkdownInline[] {
    const start = pastSpace(this.#text, this.#at + 1)
    const target = targetAt(this.#text, start)
    if (target === undefined) return []
    const space = pastSpace(this.#text, target.end)
    const title = space > target.end ? titleEnd(this.#text, space) : undefined
    const close = title === undefined ? space : pastSpace(this.#text, title)
    if (this.#text.charCodeAt(close) !== CLOSE) return []
    this.#at = close + 1
    return [
      { kind: 'target', target: target.target, at: target.at },
      { kind: 'address', start, end: target.end },
      ...(title === undefined ? [] : [{ kind: 'title', start: space + 1, end: title - 1 } as const]),
    ]
  }
}

/** Most text has few of them: finding the next one takes a tenth of the time of checking each character here. */
const MARK = /[!<[\\\]`]/g

/** The signs of the places of brackets. No place is 0, since it is the offset after the bracket. */
const [IMAGE, LINK] = [-1, 1] as const

const ADDRESS = /<(?<target>[A-Za-z][A-Za-z0-9+.-]{1,31}:[!-;=?-\u{10FFFF}]*)>/uy
const MAIL =
  /<(?<target>[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)>/y

const EMPTY_COMMENTS: readonly string[] = ['<!-->', '<!--->']
const MARKUP: readonly { readonly opening: string; readonly closing: string }[] = [
  { opening: '<!--', closing: '-->' },
  { opening: '<?', closing: '?>' },
  { opening: '<![CDATA[', closing: ']]>' },
  { opening: '<!', closing: '>' },
]

const [BANG, OPEN, CLOSE, LESS] = [0x21, 0x28, 0x29, 0x3c]
const [OPENING, BACKSLASH, CLOSING, BACKTICK] = [0x5b, 0x5c, 0x5d, 0x60]
