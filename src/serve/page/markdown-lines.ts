import type { MarkdownIt as Reader, Ruler, StateInline, Token } from 'markdown-it'

/** The parts of a link that are not rendered, by the lines in which they begin. */
interface LinkLines {
  readonly address: number
  readonly title: number
}

/** Lines of a document in which something stands that is not rendered: counted from 0, as the reader of Markdown counts them. */
export class MarkdownLines {
  /** In the text of the paragraph, until all of it is read. */
  readonly #links = new WeakMap<Token, LinkLines>()
  readonly #definitions = new Map<string, number>()
  readonly #ends = new WeakMap<StateInline, readonly number[]>()

  /** Has the reader keep the lines of what it reads from now on. */
  constructor(reader: Reader) {
    for (const name of ['link', 'image', 'autolink']) this.#follow(reader, name)
    reader.core.ruler.push('lines', ({ tokens }) => this.#place(tokens))
  }

  /** Takes up where a label is defined. The first definition holds. */
  define(label: string, line: number): void {
    if (!this.#definitions.has(label)) this.#definitions.set(label, line)
  }

  /** The line of the address or the title of a link or an image: of its definition, where that has it. */
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

  /** Found by halves: a paragraph may have as many links as it has lines. */
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

/** The rule that has the name now. */
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
 * Names the lines of a text, given what its first one is called. Markdown takes a carriage return by itself for the end of a line,
 * which neither an editor does nor a finding.
 */
export function lineNamer(text: string, first: number): (line: number) => number {
  if (!/\r(?!\n)/.test(text)) return (line) => first + line
  const names = [first]
  for (const [end] of text.matchAll(/\r\n?|\n/g)) names.push((names.at(-1) ?? first) + (end === '\r' ? 0 : 1))
  return (line) => names[line] ?? first
}
