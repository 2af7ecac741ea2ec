import MarkdownIt from 'markdown-it'
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
 * texts, and a link leads to a file of the same skill, to an http address or nowhere.
 */
export function rendered(document: Document): string {
  return readerOf(document).render(document.markdown)
}

function readerOf(document: Document) {
  const reader = new MarkdownIt({ html: false, linkify: false, typographer: false })
  // What a link may lead to is decided below, where it is known which document it stands in.
  reader.validateLink = () => true
  const ids = new Map<string, number>()
  // The elements of the links that are open.
  const links: ('a' | 'span')[] = []
  const rules: typeof reader.renderer.rules = {
    text: (tokens, at) => visibleText(tokens[at]?.content ?? ''),
    code_inline: (tokens, at) => `<code>${visibleText(tokens[at]?.content ?? '')}</code>`,
    code_block: (tokens, at) => codeBlock(tokens[at]?.content ?? ''),
    fence: (tokens, at) => codeBlock(tokens[at]?.content ?? ''),
    image: (tokens, at, options, environment) => {
      const alternative = reader.renderer.renderInlineAsText(tokens[at]?.children ?? [], options, environment)
      return `<span class="image">Image: ${visibleText(alternative === '' ? 'without a text' : alternative)}</span>`
    },
    link_open: (tokens, at) => {
      const target = targetOf(String(tokens[at]?.attrGet('href')), document)
      links.push(target === undefined ? 'span' : 'a')
      return target === undefined ? NO_LINK : `<a href="${escapedText(target.href)}"${target.isElsewhere ? REL : ''}>`
    },
    link_close: () => `</${links.pop() ?? 'span'}>`,
    heading_open: (tokens, at) =>
      `<${lowered(tokens[at]?.tag)} id="${escapedText(idOf(tokens[at + 1]?.content ?? '', ids))}">`,
    heading_close: (tokens, at) => `</${lowered(tokens[at]?.tag)}>\n`,
    table_open: () => '<div class="wide" role="region" aria-label="Table" tabindex="0"><table>\n',
    table_close: () => '</table></div>\n',
    th_open: (tokens, at) => cell('th', tokens[at]?.attrGet('style')),
    td_open: (tokens, at) => cell('td', tokens[at]?.attrGet('style')),
  }
  Object.assign(reader.renderer.rules, rules)
  return reader
}

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
