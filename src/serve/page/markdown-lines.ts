import type { MarkdownIt as Reader, Ruler, StateInline, Token } from 'markdown-it'

/** The lines of those parts of a link that are not rendered. */
interface LinkLines {
  readonly address: number
  readonly title: number
}

/** Finds the lines of content that is not rendered. Lines count from 0, as in the Markdown parser. */
export class MarkdownLines {
  /** The lines are relative to the paragraph until the whole document is parsed. */
  readonly #links = new WeakMap<Token, LinkLines>()
  readonly #definitions = new Map<string, number>()
  readonly #ends = new WeakMap<StateInline, readonly number[]>()

  /** Makes the parser record the lines of everything that it parses from now on. */
  constructor(reader: Reader) {
    for (const name of ['link', 'image', 'autolink']) this.#follow(reader, name)
    reader.core.ruler.push('lines', ({ tokens }) => this.#place(tokens))
  }

  /** Records the line of a definition. The first definition of a label is valid. */
  define(label: string, line: number): void {
    if (!this.#definitions.has(label)) this.#definitions.set(label, line)
  }

  /** Returns the line of the address or title of a link or an image, or the line of its definition. */
  of(token: Token | undefined, part: keyof LinkLines): number {
    const label = token?.meta?.['label']
    const defined = typeof label === 'string' ? this.#definitions.get(label) : undefined
    return defined ?? (token && this.#links.get(token)?.[part]) ?? 0
  }

  #follow({ inline }: Reader, name: string): void {
    const rule = ruleNamed(inline.ruler, name)
    inline.ruler.at(name, (state, silent) => {
      const [start, before] = [state.pos, state.tokens.length]
      if (rule?.(state, silent) !== true) return false
      const token = silent ? undefined : linkFrom(state.tokens, before)
      if (token !== undefined) this.#links.set(token, this.#linesIn(state, start))
      return true
    })
  }

  #linesIn(state: StateInline, start: number): LinkLines {
    const { src } = state
    const isImage = src[start] === '!'
    const labelEnd = src[start] === '<' ? -1 : state.md.helpers.parseLinkLabel(state, start + +isImage, !isImage)
    if (src[labelEnd + 1] !== '(') return { address: this.#lineAt(state, start), title: this.#lineAt(state, start) }
    const address = afterSpace(src, labelEnd + 2)
    const { ok, pos } = state.md.helpers.parseLinkDestination(src, address, state.posMax)
    const title = afterSpace(src, ok ? pos : address)
    return { address: this.#lineAt(state, address), title: this.#lineAt(state, title) }
  }

  /** Binary search: a paragraph may have as many links as lines. */
  #lineAt(state: StateInline, offset: number): number {
    const ends = this.#ends.get(state) ?? Array.from(state.src.matchAll(/\n/g), ({ index }) => index)
    this.#ends.set(state, ends)
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? offset) < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** A cell of a table has the line of its row. */
  #place(tokens: readonly Token[]): void {
    let line = 0
    for (const { map, children } of tokens) {
      line = map?.[0] ?? line
      for (const child of children ?? []) {
        const { address, title } = this.#links.get(child) ?? {}
        if (address !== undefined && title !== undefined)
          this.#links.set(child, { address: line + address, title: line + title })
      }
    }
  }
}

function linkFrom(tokens: readonly Token[], start: number): Token | undefined {
  for (let at = start; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (token?.type === 'link_open' || token?.type === 'image') return token
  }
  return undefined
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (/^[ \t\n]$/.test(text[at] ?? '')) at += 1
  return at
}

/** Returns the current rule of that name. */
export function ruleNamed<Rule extends (...args: never[]) => unknown>(
  ruler: Pick<Ruler<never[], unknown>, 'disable' | 'enable'> & { getRules(chain: string): readonly Rule[] },
  name: string,
): Rule | undefined {
  const rules = ruler.getRules('')
  ruler.disable(name)
  const others = new Set(ruler.getRules(''))
  ruler.enable(name)
  return rules.find((rule) => !others.has(rule))
}

/**
 * Returns a function that translates the lines of a text, given the number of the first line. Markdown ends a line at a
 * single carriage return, but editors and findings do not.
 */
export function lineNamer(text: string, first: number): (line: number) => number {
  if (!/\r(?!\n)/.test(text)) return (line) => first + line
  const names = [first]
  for (const [end] of text.matchAll(/\r\n?|\n/g)) names.push((names.at(-1) ?? first) + (end === '\r' ? 0 : 1))
  return (line) => names[line] ?? first
}
