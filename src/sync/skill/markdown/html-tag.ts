/** A tag in a Markdown text. */
export interface HtmlTag {
  /** In lower case. */
  readonly name: string
  /** The offset after it. */
  readonly end: number
  /** The attributes with a value, which is between the offsets. */
  readonly attributes: readonly { readonly name: string; readonly start: number; readonly end: number }[]
}

/**
 * The opening or closing tag that begins at `start`, by the grammar of CommonMark; `undefined` if there is none. Trying
 * every bracket takes linear time: a bracket outside of quotes ends the attempt, and of the attempts from three
 * brackets, one is in each of the three quoting states at the fourth.
 */
export function tagAt(text: string, start: number, end: number): HtmlTag | undefined {
  const isClosing = text[start + 1] === '/'
  const name = wordAt(NAME, text, start + (isClosing ? 2 : 1), end)
  if (name === undefined) return undefined
  const reader = new TagReader(text, name.end, end)
  return reader.read(text.slice(name.start, name.end).toLowerCase(), isClosing)
}

/** The attributes of the tag that contain words. Their values are between the offsets. */
export function attributeTexts({ attributes }: HtmlTag): HtmlTag['attributes'] {
  return attributes.filter(({ name }) => WORDED.test(name))
}

const WORDED = /^(?:alt|title|content|summary|placeholder|label|value|aria-.*|data-.*)$/

interface Word {
  readonly start: number
  readonly end: number
}

class TagReader {
  readonly #text: string
  readonly #end: number
  readonly #attributes: { readonly name: string; readonly start: number; readonly end: number }[] = []
  #at: number

  constructor(text: string, at: number, end: number) {
    this.#text = text
    this.#at = at
    this.#end = end
  }

  read(name: string, isClosing: boolean): HtmlTag | undefined {
    let isRead = isClosing
    while (!isRead) isRead = !this.#attribute()
    this.#pastSpace()
    if (!isClosing && this.#text[this.#at] === '/') this.#at += 1
    if (this.#at >= this.#end || this.#text[this.#at] !== '>') return undefined
    return { name, end: this.#at + 1, attributes: this.#attributes }
  }

  /** Moves past one attribute; false if none follows, or its value is not closed. */
  #attribute(): boolean {
    const from = this.#at
    if (!this.#pastSpace()) return false
    const name = wordAt(ATTRIBUTE, this.#text, this.#at, this.#end)
    if (name === undefined) {
      this.#at = from
      return false
    }
    this.#at = name.end
    this.#pastSpace()
    if (this.#at >= this.#end || this.#text[this.#at] !== '=') {
      this.#at = name.end
      return true
    }
    this.#at += 1
    this.#pastSpace()
    const value = this.#value()
    if (value === undefined) return false
    this.#attributes.push({ name: this.#text.slice(name.start, name.end).toLowerCase(), ...value })
    return true
  }

  #value(): Word | undefined {
    const quote = this.#text[this.#at]
    if (quote !== '"' && quote !== "'") {
      const plain = wordAt(UNQUOTED, this.#text, this.#at, this.#end)
      if (plain !== undefined) this.#at = plain.end
      return plain
    }
    const start = this.#at + 1
    let end = start
    while (end < this.#end && this.#text[end] !== quote) end += 1
    if (end >= this.#end) return undefined
    this.#at = end + 1
    return { start, end }
  }

  /** True if there was any whitespace. */
  #pastSpace(): boolean {
    const from = this.#at
    while (this.#at < this.#end && ' \t\n\r\v\f'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1
    return this.#at > from
  }
}

function wordAt(form: RegExp, text: string, start: number, end: number): Word | undefined {
  form.lastIndex = start
  const [word] = form.exec(text) ?? []
  return word === undefined || start + word.length > end ? undefined : { start, end: start + word.length }
}

const NAME = /[A-Za-z][A-Za-z0-9-]*/y
const ATTRIBUTE = /[A-Za-z_:][A-Za-z0-9_.:-]*/y
const UNQUOTED = /[^\s"'=<>`]+/y
