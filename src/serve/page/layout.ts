import { createHash } from 'node:crypto'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

/**
 * Returns a mark that differs between catalogs. The generation is not enough: an operator can disable a skill within
 * one.
 */
export function catalogMarkOf({ digest }: Pick<Catalog, 'digest'>): string {
  return digest.slice(0, 16)
}

/** One page, before it is put into its frame. */
export interface PageBody {
  readonly status?: number
  readonly title: string
  readonly content: Html
  /** The menu entry of the page. */
  readonly place?: PageLink
  /** The search that the page shows the results of. Only the list of skills has one; the name of the hub is its heading. */
  readonly query?: string
  /** Further elements of the head. */
  readonly head?: Html
}

export type PageLink = 'skills' | 'sources' | 'changes' | 'problems' | 'usage' | 'budget' | 'connect'

/** The parts that every page has. */
export interface Frame {
  /** The name of the whole page, set by the operator. */
  readonly name: string
  /** The relative path to the root. */
  readonly up: string
  /** The principal that is signed in. */
  readonly reader: string | undefined
  /** The `catalogMarkOf` of the catalog that the page was rendered from. */
  readonly mark: string
  /** Data of the whole catalog. `undefined` for a reader of a part of it. */
  readonly whole: WholeFrame | undefined
}

interface WholeFrame {
  readonly generation: number
  /** The number of problems. */
  readonly problems: number
  /** The number of sources that need a person. */
  readonly sources: number
  /** Names what needs a person. */
  readonly banner: Html
  readonly hasUses: boolean
}

export function renderPage({ title, content, place, query, head }: PageBody, frame: Frame): string {
  const { name, up, whole, mark, reader } = frame
  const home = html`<a class="name" href="${up}">${isolateText(name)}</a>`
  return documentOf({
    title: title === name ? name : `${title} · ${name}`,
    ...(head !== undefined && { head }),
    attributes: ` data-root="${up}" data-catalog="${mark}" data-live`,
    body: html`<a class="skip" href="#main">Skip to the content</a>
      <header>
        <div class="bar">
          ${query === undefined ? home : html`<h1>${home}</h1>`} ${searchForm(query, up)}
          <nav aria-label="Main">
            <ul>
              ${menu(place, frame)}
            </ul>
          </nav>
        </div>
        ${whole === undefined ? EMPTY_HTML : html`<div id="banner" class="banner" data-live>${whole.banner}</div>`}
      </header>
      <main id="main" tabindex="-1">${content}</main>
      <footer>
        ${
          whole === undefined
            ? html`<span>Served by skillsyncd</span>`
            : html`<span
                >Generation <span id="generation" data-live>${whole.generation}</span>, served by skillsyncd</span
              >`
        }
        ${
          reader === undefined
            ? EMPTY_HTML
            : html`<form method="post" action="${up}logout">${isolateText(reader)} <button>Sign out</button></form>`
        }
      </footer>
      <div id="heard" class="heard" role="status"></div>`,
  })
}

/** The filters of the list belong to it too. */
function searchForm(query: string | undefined, up: string): Html {
  return html`<form
    id="find"
    role="search"
    action="${up}"
    method="get"
    ${query === undefined ? EMPTY_HTML : html` data-list`}
  >
    <label class="heard" for="q">Search by name, path or description</label>
    <input
      id="q"
      type="search"
      name="q"
      value="${query ?? ''}"
      placeholder="Search skills"
      maxlength="200"
      autocomplete="off"
      spellcheck="false"
    />
    <button>Search</button>
  </form>`
}

const MENU: readonly (readonly [PageLink, string, string])[] = [
  ['skills', '', 'Skills'],
  ['sources', 'sources', 'Sources'],
  ['changes', 'changes', 'Changes'],
  ['problems', 'problems', 'Problems'],
  ['usage', 'usage', 'Use'],
  ['budget', 'budget', 'Budget'],
  ['connect', 'connect', 'Connect'],
]

/** The menu for a reader of a part of the catalog. */
const OF_PARTS: ReadonlySet<PageLink> = new Set(['skills', 'budget', 'connect'])

function menu(place: PageLink | undefined, { up, whole }: Frame): Html[] {
  const counts = new Map<PageLink, number | undefined>([
    ['sources', whole?.sources],
    ['problems', whole?.problems],
  ])
  const isShown = (of: PageLink): boolean => OF_PARTS.has(of) || (of === 'usage' ? whole?.hasUses === true : !!whole)
  return MENU.filter(([of]) => isShown(of)).map(([of, address, text]) => {
    const current = of === place ? html` aria-current="page"` : EMPTY_HTML
    const count = counts.has(of) ? countIn(`${of}-count`, counts.get(of) ?? 0) : EMPTY_HTML
    return html`<li><a href="${up}${address}" ${current}>${text}${count}</a></li>`
  })
}

/** Renders a number of the menu. The element exists for zero too, so that the script can bring it up to date. */
function countIn(id: string, count: number): Html {
  return html` <span id="${id}" class="count" data-live>${count === 0 ? '' : count}</span>`
}

/** Three lines of a text. A part of the page itself, so that the policy needs to admit no address. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5c66"/><path d="M8 10h16M8 16h16M8 22h9" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>',
)}`

/**
 * Allows our own style and script, each by its digest, and images that are a part of the page, for its icon. Forbids
 * everything else that a page could run, and everything that it could load.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  'img-src data:',
  `script-src '${digestOf(SCRIPT)}'`,
  `style-src '${digestOf(STYLE)}'`,
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** A whole document, before the style and script of every page are added. */
interface PageDocument {
  readonly title: string
  /** Attributes of the root element, beginning with a space. */
  readonly attributes: string
  readonly body: Html
  /** Further elements of the head. */
  readonly head?: Html
}

/** Renders a whole HTML document, with the style and the script of the page inside it. */
export function documentOf({ title, attributes, body, head: more = EMPTY_HTML }: PageDocument): string {
  const head = html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="${ICON}" />
    <title>${title}</title>
    ${more}`
  return `<!doctype html>
<html lang="en"${attributes}>
<head>${head.html}<style>${STYLE}</style></head>
<body>${body.html}<script>${SCRIPT}</script></body>
</html>
`
}
