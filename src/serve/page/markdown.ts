import MarkdownIt from 'markdown-it'
import type { MarkdownIt as Reader, Token } from 'markdown-it'
import { escapedText, visibleText } from './html.ts'

/** A Markdown file of a skill, and what its links may lead to. */
export interface Document {
  readonly markdown: string
  /** Its own path in the skill. */
  readonly path: string
  /** The files of the skill: path, and address as seen from the page of this one. */
  readonly files: ReadonlyMap<string, string>
}

/**
 * The document as HTML that runs nothing and loads nothing: what looks like HTML in it is text, images are their alternative
 * texts, and a link leads to a file of the same skill, to an http address or nowhere. Text that Markdown means to be read by
 * programs alone stands in its place, marked: a model reads it too.
 */
export function rendered(document: Document): string {
  return readerOf(document).render(document.markdown)
}

function readerOf(document: Document) {
  const reader = new MarkdownIt({ html: false, linkify: false, typographer: false })
  // What a link may lead to is decided below, where it is known which document it stands in.
  reader.validateLink = () => true
  showDefinitions(reader)
  showCells(reader)
  const ids = new Map<string, number>()
  // The ends of the links that are open, with what of each is not rendered.
  const links: string[] = []
  const rules: typeof reader.renderer.rules = {
    text: (tokens, at) => visibleText(tokens[at]?.content ?? ''),
    code_inline: (tokens, at) => `<code>${visibleText(tokens[at]?.content ?? '')}</code>`,
    code_block: (tokens, at) => codeBlock(tokens[at]?.content ?? ''),
    fence: (tokens, at) => {
      const info = tokens[at]?.info.trim() ?? ''
      return unrenderedLine('code', info) + codeBlock(tokens[at]?.content ?? '')
    },
    definition: (tokens, at) => unrenderedLine('definition', tokens[at]?.content ?? ''),
    image: (tokens, at, options, environment) => {
      const { children, content = '' } = tokens[at] ?? {}
      const isPlain = (children ?? []).every(({ type }) => IN_PLAIN_TEXT.test(type))
      const alternative = isPlain ? reader.renderer.renderInlineAsText(children ?? [], options, environment) : content
      const image = `<span class="image">Image: ${visibleText(alternative === '' ? 'without a text' : alternative)}</span>`
      return (
        image +
        unrendered('address', attribute(tokens[at], 'src')) +
        unrendered('title', attribute(tokens[at], 'title'))
      )
    },
    link_open: (tokens, at) => {
      const href = attribute(tokens[at], 'href')
      const target = targetOf(href, document)
      const title = unrendered('title', attribute(tokens[at], 'title'))
      links.push(target === undefined ? `</span>${unrendered('address', href)}${title}` : `</a>${title}`)
      return target === undefined ? NO_LINK : `<a href="${escapedText(target.href)}"${target.isElsewhere ? REL : ''}>`
    },
    link_close: () => links.pop() ?? '',
    heading_open: (tokens, at) =>
      `<${lowered(tokens[at]?.tag)} id="${escapedText(idOf(tokens[at + 1]?.content ?? '', ids))}">`,
    heading_close: (tokens, at) => `</${lowered(tokens[at]?.tag)}>\n`,
    table_open: () => '<div class="wide" role="region" aria-label="Table" tabindex="0"><table>\n',
    table_close: () => '</table></div>\n',
    tr_close: (tokens, at) => {
      const row = unrendered('row', tokens[at]?.content ?? '')
      return `</tr>\n${row === '' ? '' : `<tr><td>${row}</td></tr>\n`}`
    },
    th_open: (tokens, at) => cell('th', tokens[at]?.attrGet('style')),
    td_open: (tokens, at) => cell('td', tokens[at]?.attrGet('style')),
  }
  Object.assign(reader.renderer.rules, rules)
  return reader
}

/** Definitions of addresses become tokens: Markdown reads them and leaves nothing in their place. */
function showDefinitions(reader: Reader): void {
  const { ruler } = reader.block
  const rules = ruler.getRules('')
  ruler.disable('reference')
  const others = new Set(ruler.getRules(''))
  const define = rules.find((rule) => !others.has(rule))
  ruler.at('reference', (state, start, end, silent) => {
    if (define?.(state, start, end, silent) !== true) return false
    if (!silent) state.push('definition', '', 0).content = state.getLines(start, state.line, state.blkIndent, false)
    return true
  })
  ruler.enable('reference')
}

/** Rows with more cells than their table has columns say so at their end: Markdown drops those cells. */
function showCells(reader: Reader): void {
  reader.core.ruler.push('cells', ({ src, tokens }) => {
    const lines = src.split('\n')
    let [line, shown] = ['', '']
    for (const token of tokens) {
      if (token.type === 'tr_open') [line, shown] = [lines[token.map?.[0] ?? -1] ?? '', '']
      if (token.type === 'inline') shown += bare(token.content)
      if (token.type === 'tr_close' && !bare(line).endsWith(shown)) token.content = line
    }
  })
}

/** A row without what parts its cells. */
function bare(text: string): string {
  return text.replaceAll(/[\s|\\]/g, '')
}

/** Types of the tokens that come out whole as plain text. */
const IN_PLAIN_TEXT = /^(?:text|(?:em|strong|s)_(?:open|close)|softbreak|hardbreak)$/

function attribute(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? '')
}

function unrendered(kind: string, text: string): string {
  return text === '' ? '' : ` <span class="unrendered" title="${UNRENDERED}">${kind}: ${visibleText(text)}</span>`
}

function unrenderedLine(kind: string, text: string): string {
  return text === '' ? '' : `<p>${unrendered(kind, text).trim()}</p>\n`
}

const UNRENDERED = 'Markdown leaves this out, and a model reads it'

const NO_LINK = '<span class="nowhere" title="This link leads to nothing that is served here">'

const REL = ' rel="noopener noreferrer nofollow"'

/** As an attribute of style, where it stands, the policy of the page would not let it through. */
function cell(tag: 'th' | 'td', style: unknown): string {
  const align = /^text-align:(left|center|right)$/.exec(String(style))?.[1]
  return align === undefined ? `<${tag}>` : `<${tag} class="${align}">`
}

function codeBlock(code: string): string {
  return `<pre tabindex="0"><code>${visibleText(code)}</code></pre>\n`
}

/** The page has a heading of its own above all others. */
function lowered(tag = 'h6'): string {
  return `h${Math.min(6, Number(tag.slice(1)) + 1)}`
}

function idOf(heading: string, ids: Map<string, number>): string {
  const id = slugOf(heading)
  const before = ids.get(id) ?? 0
  ids.set(id, before + 1)
  return before === 0 ? `${ID}${id}` : `${ID}${id}-${before}`
}

/** Before each id, so that none is one of the page's own. */
const ID = 'md-'

function slugOf(heading: string): string {
  return heading
    .slice(0, 200)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s+/g, '-')
}

interface Target {
  readonly href: string
  readonly isElsewhere: boolean
}

/** Undefined where a link would lead to what is not ours and not of the web, or to no file of the skill. */
function targetOf(href: string, { path, files }: Document): Target | undefined {
  if (href.startsWith('#')) return { href: `#${ID}${slugOf(decoded(href.slice(1)))}`, isElsewhere: false }
  if (/^https?:\/\//i.test(href)) {
    const url = URL.parse(href)
    return url === null ? undefined : { href: url.href, isElsewhere: true }
  }
  const known = files.get(joined(path, decoded(href.replace(/[?#].*$/s, ''))))
  return known === undefined ? undefined : { href: known, isElsewhere: false }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}

/** The path that a relative one leads to, seen from the folder of a file. It is looked up, never opened. */
function joined(from: string, to: string): string {
  const segments = from.split('/').slice(0, -1)
  for (const segment of to.split('/')) {
    if (segment === '..') {
      // Above the skill there is nothing: `..` as a name is none of its files.
      if (segments.pop() === undefined) return '..'
    } else if (segment !== '.') segments.push(segment)
  }
  return segments.join('/')
}
