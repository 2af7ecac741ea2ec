import { stringify } from 'yaml'
import { countOf } from '../../base/text/plural.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import type { RepositoryPlace } from './schema/pasted-address.ts'

/** A place that is read before its source is written. */
export type FetchedPlace = RepositoryPlace | { readonly path: string; readonly root?: string }

/** The address of another MCP server. */
export interface ServerPlace {
  readonly mcp: string
}

/** A source in the first configuration. */
export interface StartingSource {
  readonly id: string
  readonly place: FetchedPlace | ServerPlace
  /** The facts about the source; `undefined` if it was not checked or could not be. */
  readonly seen: Seen | undefined
}

export interface Seen {
  /** The branch of its HEAD; `undefined` if HEAD names no branch with a plain name, and for a folder. */
  readonly branch: string | undefined
  readonly commit: string
  /** The number of skills below `root`, and the number elsewhere. */
  readonly skills: number
  readonly elsewhere: number
  readonly root: string
  /** True if it has a folder `docs` with Markdown files. */
  readonly hasDocs: boolean
}

/**
 * The text of a first configuration: the requested sources, and comments with the settings that are often needed next.
 */
export function startingText(sources: readonly StartingSource[]): string {
  return `# The sources that skillsyncd mirrors, and how it serves them. skillsyncd add wrote this file; edit it as you like.
# docs/configuration.md of the package explains all keys. A command that reads this file reports errors with their lines.

sources:
${sources.map(sourceText).join('\n')}
# The address for MCP clients. If it is not a loopback address, each client needs a token: skillsyncd hub token add NAME.
serve:
  http: { host: 127.0.0.1, port: 8741 }

# The folder for everything that must survive a restart.
# state: ~/.local/state/skillsyncd
`
}

function sourceText(source: StartingSource): string {
  const { id, place, seen } = source
  const lines = [
    `# ${commentOn(source) ?? NOT_FETCHED}`,
    `- id: ${scalar(id)} # the first segment of its URIs: skill://${id}/…`,
    ...('mcp' in place ? serverLines(place) : fetchedLines(place, seen)),
  ]
  return lines.map((line) => `  ${line}\n`).join('')
}

function serverLines({ mcp }: ServerPlace): string[] {
  return [`  mcp: ${scalar(mcp)}`, '  # For a server with tokens, name the secret here; never write it.', AUTH]
}

function fetchedLines(place: FetchedPlace, seen: Seen | undefined): string[] {
  return [
    ...('url' in place ? urlLines(place) : [`  path: ${scalar(place.path)} # a plain folder, watched`]),
    ...(place.root === undefined ? [] : [`  root: ${scalar(place.root)} # paths of skills are relative to it`]),
    ...(seen?.hasDocs === true
      ? ['  # docs: docs # serves the Markdown files of docs/ at resource://docs/; one source may']
      : []),
    '  # update: locked # serve the commit in skills.lock; skillsyncd lock writes it, skillsyncd update moves it',
  ]
}

function urlLines({ url, ref }: RepositoryPlace): string[] {
  return [
    `  url: ${scalar(url)}`,
    ...(ref === undefined ? [] : [`  ref: ${scalar(ref)} # a branch, a tag or a full commit id`]),
    '  every: 5m # the poll interval',
    '  # For a private repository, name the secret here; never write it. auth also takes ssh keys, apps and helpers.',
    AUTH,
  ]
}

const AUTH = '  # auth: { token: { env: SKILLS_TOKEN } }'

/** The comment above a source; `undefined` if nothing is known of it. */
export function commentOn({ id, place, seen }: StartingSource): string | undefined {
  if ('mcp' in place) return `an MCP server; its skills wait for skillsyncd approve ${id}/`
  return seen && seenText(seen)
}

/** A description of the repository in one line. */
export function seenText({ branch, commit, skills, elsewhere, root, hasDocs }: Seen): string {
  const where = root === '' ? '' : ` below ${printableLine(root)}/`
  const rest = elsewhere === 0 ? '' : `; ${elsewhere} elsewhere, which \`root\` leaves out`
  const at = branch === undefined ? commit.slice(0, 12) : `${printableLine(branch)} at ${commit.slice(0, 12)}`
  return `${at}: ${countOf(skills, 'skill')}${where}${rest}${hasDocs ? DOCS_PROPOSED : ''}`
}

/** True for the comment that `add` writes above a source: it goes with the source. */
export function isSourceComment(comment: string): boolean {
  return comment === NOT_FETCHED || OWN.some((form) => form.test(comment))
}

const DOCS_PROPOSED = '; `docs: docs` in one source serves its folder docs/ too'
const NOT_FETCHED = 'Not fetched yet.'
const OWN = [
  /^(?:\S+ at )?[0-9a-f]{12}: \d+ skills?(?: below .+\/)?(?:; \d+ elsewhere, which `root` leaves out)?(?:; `docs: docs` in one source serves its folder docs\/ too)?$/,
  /^plugin \S+ of \S+(?:: no commit pins it)?$/,
  /^an MCP server; its skills wait for skillsyncd approve \S+\/$/,
]

/** A text of one line, whatever it has: more lines would be read as further keys. */
function scalar(text: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) ? JSON.stringify(text) : stringify(text, { lineWidth: 0 }).trimEnd()
}
