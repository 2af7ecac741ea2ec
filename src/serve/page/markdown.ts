import MarkdownIt from 'markdown-it'
import type { MarkdownIt as Reader, Token } from 'markdown-it'
import { yamlComments } from '../../sync/skill/yaml-comments.ts'
import { escapedText, visibleText } from './html.ts'
import { lineNamer, MarkdownLines, ruleNamed } from './markdown-lines.ts'

/** A Markdown file of a skill, and the possible targets of its links. */
export interface MarkdownDocument {
  readonly markdown: string
  /** The line of the file where the Markdown begins, from 1. */
  readonly line: number
  /** The YAML in front of it, from the second line of the file; empty if there is none. */
  readonly frontmatter: string
  /** The path of the file in the skill. */
  readonly path: string
  /** The files of the skill: path, and address relative to the page of this file. */
  readonly files: ReadonlyMap<string, string>
}

/**
 * Renders the document as HTML that runs and loads nothing. HTML in it becomes text. Images become their alternative
 * texts. A link leads to a file of the same skill, to an http address or nowhere. Text that Markdown leaves for
 * programs is shown in its place, marked, with its line in the file, because a model reads it too. Comments of the
 * frontmatter come first, in the same form.
 */
export function renderMarkdown(document: MarkdownDocument): string {
  return commentsOf(document.frontmatter) + readerOf(document).render(document.markdown)
}

function commentsOf(frontmatter: string): string {
  let [line, feed] = [FIRST_OF_FRONTMATTER, frontmatter.indexOf('\n')]
  const marks = yamlComments(frontmatter).map(({ start, text }) => {
    for (; feed !== -1 && feed < start; feed = frontmatter.indexOf('\n', feed + 1)) line += 1
    return unrenderedLine('comment', text, line)
  })
  return marks.join('')
}

const FIRST_OF_FRONTMATTER = 2

function readerOf(document: MarkdownDocument) {
  const reader = new MarkdownIt({ html: false, linkify: false, typographer: false })
  // The renderer below checks the target of each link, because it knows the document.
  reader.validateLink = () => true
  const lines = new MarkdownLines(reader)
  readTablesLast(reader)
  showDefinitions(reader, lines)
  showCells(reader)
  const nameOf = lineNamer(document.markdown, document.line)
  const lineOf = (token: Token | undefined): number => nameOf(token?.map?.[0] ?? 0)
  const partOf = (token: Token | undefined, part: 'address' | 'title', name: string): string =>
    unrenderedNote(part, attribute(token, name), nameOf(lines.of(token, part)))
  const ids = new Map<string, number>()
  // The closing tags of open links, with the parts that are not rendered.
  const links: string[] = []
  const rules: typeof reader.renderer.rules = {
    text: (tokens, at) => visibleText(tokens[at]?.content ?? ''),
    code_inline: (tokens, at) => `<code>${visibleText(tokens[at]?.content ?? '')}</code>`,
    code_block: (tokens, at) => codeBlock(tokens[at]?.content ?? ''),
    fence: (tokens, at) => {
      const info = tokens[at]?.info.trim() ?? ''
      return unrenderedLine('code', info, lineOf(tokens[at])) + codeBlock(tokens[at]?.content ?? '')
    },
    definition: (tokens, at) => unrenderedLine('definition', tokens[at]?.content ?? '', lineOf(tokens[at])),
    image: (tokens, at, options, environment) => {
      const { children, content = '' } = tokens[at] ?? {}
      const isPlain = (children ?? []).every(({ type }) => IN_PLAIN_TEXT.test(type))
      const alternative = isPlain ? reader.renderer.renderInlineAsText(children ?? [], options, environment) : content
      const image = `<span class="image">Image: ${visibleText(alternative === '' ? 'without a text' : alternative)}</span>`
      return image + partOf(tokens[at], 'address', 'src') + partOf(tokens[at], 'title', 'title')
    },
    link_open: (tokens, at) => {
      const href = attribute(tokens[at], 'href')
      const target = targetOf(href, document)
      const title = partOf(tokens[at], 'title', 'title')
      links.push(target === undefined ? `</span>${partOf(tokens[at], 'address', 'href')}${title}` : `</a>${title}`)
      return target === undefined ? NO_LINK : `<a href="${escapedText(target.href)}"${target.isElsewhere ? REL : ''}>`
    },
    link_close: () => links.pop() ?? '',
    heading_open: (tokens, at) =>
      `<${lowerHeading(tokens[at]?.tag)} id="${escapedText(idOf(tokens[at + 1]?.content ?? '', ids))}">`,
    heading_close: (tokens, at) => `</${lowerHeading(tokens[at]?.tag)}>\n`,
    table_open: () => '<div class="wide" role="region" aria-label="Table" tabindex="0"><table>\n',
    table_close: () => '</table></div>\n',
    tr_close: (tokens, at) => {
      const row = unrenderedNote('row', tokens[at]?.content ?? '', lineOf(tokens[at]))
      return `</tr>\n${row === '' ? '' : `<tr><td>${row}</td></tr>\n`}`
    },
    th_open: (tokens, at) => cell('th', tokens[at]?.attrGet('style')),
    td_open: (tokens, at) => cell('td', tokens[at]?.attrGet('style')),
  }
  Object.assign(reader.renderer.rules, rules)
  return reader
}

/** A line that begins a heading, a list or a quotation cannot be the head of a table, as in CommonMark. */
function readTablesLast({ block: { ruler } }: Reader): void {
  const table = ruleNamed(ruler, 'table')
  if (table === undefined) return
  ruler.disable('table')
  ruler.after('heading', 'table_last', table, { alt: ['paragraph', 'reference'] })
}

/** Turns link definitions into tokens, because Markdown parses them and renders nothing. */
function showDefinitions({ block: { ruler }, utils }: Reader, lines: MarkdownLines): void {
  const define = ruleNamed(ruler, 'reference')
  ruler.at('reference', (state, start, end, silent) => {
    if (define?.(state, start, end, silent) !== true) return false
    if (silent) return true
    const token = state.push('definition', '', 0)
    token.content = state.getLines(start, state.line, state.blkIndent, false)
    token.map = [start, state.line]
    const label = LABEL.exec(token.content)?.groups?.['label']
    if (label !== undefined) lines.define(utils.normalizeReference(label), start)
    return true
  })
}

/** The label of a definition. */
const LABEL = /^\s*\[(?<label>(?:[^[\]\\]|\\[^])*)\]:/

/** Marks rows with more cells than columns, because Markdown drops the surplus cells. */
function showCells(reader: Reader): void {
  reader.core.ruler.push('cells', ({ src, tokens }) => {
    const lines = src.split('\n')
    let [row, line, shown]: [Token | undefined, string, string] = [undefined, '', '']
    for (const token of tokens) {
      if (token.type === 'tr_open') [row, line, shown] = [token, lines[token.map?.[0] ?? -1] ?? '', '']
      if (token.type === 'inline') shown += bare(token.content)
      if (token.type !== 'tr_close' || bare(line).endsWith(shown)) continue
      token.content = line
      token.map = row?.map ?? null
    }
  })
}

/** Removes the separators of a row's cells. */
function bare(text: string): string {
  return text.replaceAll(/[\s|\\]/g, '')
}

/** Token types that plain text renders completely. */
const IN_PLAIN_TEXT = /^(?:text|(?:em|strong|s)_(?:open|close)|softbreak|hardbreak)$/

function attribute(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? '')
}

/** `line`: a line of the file, from 1. */
function unrenderedNote(kind: string, text: string, line: number): string {
  if (text === '') return ''
  return ` <span class="unrendered" title="${UNRENDERED}">${kind}, line ${line}: ${visibleText(text)}</span>`
}

function unrenderedLine(kind: string, text: string, line: number): string {
  return text === '' ? '' : `<p>${unrenderedNote(kind, text, line).trim()}</p>\n`
}

const UNRENDERED = 'Markdown leaves this out, and a model reads it'

const NO_LINK = '<span class="nowhere" title="This link leads to nothing that is served here">'

const REL = ' rel="noopener noreferrer nofollow"'

/** A class, because the page's policy forbids inline styles. */
function cell(tag: 'th' | 'td', style: unknown): string {
  const align = /^text-align:(left|center|right)$/.exec(String(style))?.[1]
  return align === undefined ? `<${tag}>` : `<${tag} class="${align}">`
}

function codeBlock(code: string): string {
  return `<pre tabindex="0"><code>${visibleText(code)}</code></pre>\n`
}

/** The page has its own top-level heading. */
function lowerHeading(tag = 'h6'): string {
  return `h${Math.min(6, Number(tag.slice(1)) + 1)}`
}

function idOf(heading: string, ids: Map<string, number>): string {
  const id = slugOf(heading)
  const before = ids.get(id) ?? 0
  ids.set(id, before + 1)
  return before === 0 ? `${ID}${id}` : `${ID}${id}-${before}`
}

/** Prefix of each id, so that none equals an id of the page. */
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

/** Returns the target of a link: a heading, a file of the skill, or a web address. `undefined` for any other link. */
function targetOf(href: string, { path, files }: MarkdownDocument): Target | undefined {
  if (href.startsWith('#')) return { href: `#${ID}${slugOf(decode(href.slice(1)))}`, isElsewhere: false }
  if (/^https?:\/\//i.test(href)) {
    const url = URL.parse(href)
    return url === null ? undefined : { href: url.href, isElsewhere: true }
  }
  const known = files.get(resolvePath(path, decode(href.replace(/[?#].*$/s, ''))))
  return known === undefined ? undefined : { href: known, isElsewhere: false }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}

/** Resolves a relative path from the folder of a file. The result is looked up, never opened. */
function resolvePath(from: string, to: string): string {
  const segments = from.split('/').slice(0, -1)
  for (const segment of to.split('/')) {
    if (segment === '..') {
      // Nothing exists above the skill, and none of its files is named `..`.
      if (segments.pop() === undefined) return '..'
    } else if (segment !== '.') segments.push(segment)
  }
  return segments.join('/')
}
