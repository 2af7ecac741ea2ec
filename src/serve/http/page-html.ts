import { createHash } from 'node:crypto'
import type { Catalog, CatalogSkill } from '../../sync/model/catalog.ts'
import { FOLDER_REF, type Revision } from '../../sync/model/revision.ts'
import { countOf } from '../count-text.ts'

/** What the page says besides the skills. */
export interface PageText {
  readonly title: string
  /** The address of the server as clients know it. */
  readonly address: string
  readonly hasInstaller: boolean
}

/** A page in two halves: between them stands what is said to one reader alone. */
interface Halves {
  readonly top: string
  readonly bottom: string
}

/** A safe piece of HTML: what others wrote is escaped in it. */
interface Html {
  readonly html: string
}

/** The list of the skills, and how to come by them. */
export function catalogPage(catalog: Catalog, { title, address, hasInstaller }: PageText): Halves {
  const { listed } = catalog
  const revisions = new Map(catalog.snapshots.map(({ source, revision }) => [source, revision]))
  const shown = listed.slice(0, MOST_SHOWN)
  const rows = shown.map((skill) => rowOf(skill, revisions.get(skill.source)))
  return halvesOf(
    title,
    html` <p>
        ${countOf(listed.length, 'skill')} of ${countOf(revisions.size, 'source')}, generation ${catalog.generation}.
      </p>
      <h2>Connect</h2>
      <p>Clients of MCP take this address:</p>
      <pre>${address}/mcp</pre>
      ${
        hasInstaller
          ? html`<p>Installers take this one:</p>
              <pre>npx skills add ${address}</pre>`
          : NOTHING
      }
      <h2>Skills</h2>
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>Description</th>
            <th>Source</th>
            <th>Commit</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
      ${listed.length > shown.length ? html`<p>${listed.length - shown.length} more are not shown here.</p>` : NOTHING}`,
  )
}

/** More than anybody reads; clients are told of all. */
const MOST_SHOWN = 1_000

function rowOf({ name, description, source, uri }: CatalogSkill, revision: Revision | undefined): Html {
  const { ref = '', commit = '' } = revision ?? {}
  return html`<tr>
    <td><bdi title="${uri}">${name}</bdi></td>
    <td><bdi>${description}</bdi></td>
    <td>${source}</td>
    <td>${ref === FOLDER_REF ? 'folder, ' : ''}<code title="${commit}">${commit.slice(0, 12)}</code></td>
  </tr>`
}

/** Says who is signed in. */
export function signedIn(reader: string): string {
  return html`<form method="post" action="logout"><bdi>${reader}</bdi> <button>Sign out</button></form>`.html
}

/** Asks for a token. `refused`: one was given that opens nothing here. */
export function loginPage(title: string, refused: boolean): string {
  const { top, bottom } = halvesOf(
    title,
    html`${refused ? html`<p role="alert">That token does not open this page.</p>` : NOTHING}
      <form method="post" action="login">
        <label>Token <input type="password" name="token" autocomplete="off" required autofocus /></label>
        <button>Sign in</button>
      </form>`,
  )
  return top + bottom
}

const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8886}
td{overflow-wrap:anywhere}pre{padding:.6rem;border:1px solid #8886;overflow-x:auto}`

/** Our own style alone is used; scripts, pictures and frames there are none. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

function halvesOf(title: string, body: Html): Halves {
  const head = html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>`
  return {
    top: `<!doctype html>
<html lang="en">
  <head>${head.html}<style>${STYLE}</style></head>
  <body>${html`<h1>${title}</h1>`.html}`,
    bottom: `${body.html}</body>
</html>
`,
  }
}

const NOTHING: Html = { html: '' }

/** Whatever is put in is escaped, but for what this function made itself. */
function html(texts: TemplateStringsArray, ...values: readonly (string | number | Html | readonly Html[])[]): Html {
  return { html: String.raw({ raw: texts }, ...values.map(escaped)) }
}

function escaped(value: string | number | Html | readonly Html[]): string {
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)
  if (typeof value === 'number') return String(value)
  return 'html' in value ? value.html : value.map((piece) => piece.html).join('')
}
