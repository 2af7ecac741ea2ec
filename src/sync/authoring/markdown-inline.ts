import { tagAt } from './html-tag.ts'
import { pastSpace, targetAt, targetsOf, titleEnd } from './markdown-target.ts'
import type { MarkdownTarget } from './markdown-target.ts'

/** What stands in a paragraph and is no plain text. */
export type MarkdownInline =
  | MarkdownTarget
  /** Between brackets: it makes a link where a definition has this label. */
  | { readonly kind: 'label'; readonly text: string }
  | { readonly kind: 'code'; readonly start: number; readonly end: number }

/**
 * Reads a paragraph from `start` on. Takes time in proportion to it whatever it is, which the Markdown parsers that tell places
 * do not: twenty thousand characters of emphasis cost one of them four seconds.
 */
export function* inlinesIn(text: string, start: number): Generator<MarkdownInline> {
  yield* new InlineReader(text, start).read()
}

class InlineReader {
  readonly #text: string
  #at: number
  /** Brackets that are open. */
  #depth = 0
  /** Where the text of the innermost bracket begins; undefined after one that is closed. */
  #label: number | undefined
  /** Where runs of backticks of a length begin; undefined until one is met. */
  #runs: Map<number, number[]> | undefined
  /** Where each text stands next, from where it was last looked for. */
  readonly #next = new Map<string, number>()

  constructor(text: string, start: number) {
    this.#text = text
    this.#at = start
  }

  *read(): Generator<MarkdownInline> {
    while (this.#at < this.#text.length) {
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
        case OPENING:
          this.#depth += 1
          this.#at += 1
          this.#label = this.#at
          break
        case CLOSING:
          yield* this.#closing()
          break
        default:
          this.#at += 1
      }
    }
  }

  /** To the end of the code; a run of backticks that nothing closes is text. */
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

  /** The last first, so that those behind us are taken away at no cost. */
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

  /** What stands in angle brackets, where it is an address or HTML; all else is a bracket. */
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
    this.#at = tag?.end ?? this.#pastMarkup(start) ?? start + 1
    if (tag !== undefined) yield* targetsOf(this.#text, tag)
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
    const [label, close, isOpen] = [this.#label, this.#at, this.#depth > 0]
    this.#at += 1
    this.#label = undefined
    if (!isOpen) return
    this.#depth -= 1
    const found = this.#text.charCodeAt(this.#at) === OPEN ? this.#target() : undefined
    if (found !== undefined) yield found
    else if (label !== undefined) yield { kind: 'label', text: this.#text.slice(label, close) }
  }

  /** What stands in the parentheses after a link's text; without a target that is closed they are text. */
  #target(): MarkdownInline | undefined {
    const start = pastSpace(this.#text, this.#at + 1)
    const target = targetAt(this.#text, start)
    if (target === undefined) return undefined
    const space = pastSpace(this.#text, target.end)
    const title = space > target.end ? titleEnd(this.#text, space) : undefined
    const close = title === undefined ? space : pastSpace(this.#text, title)
    if (this.#text.charCodeAt(close) !== CLOSE) return undefined
    this.#at = close + 1
    return { kind: 'target', target: target.target, at: target.at }
  }
}

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

const [OPEN, CLOSE, LESS, OPENING, BACKSLASH, CLOSING, BACKTICK] = [0x28, 0x29, 0x3c, 0x5b, 0x5c, 0x5d, 0x60]
