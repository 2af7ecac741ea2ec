import { CHANNEL_REF, FOLDER_REF, LISTING_REF } from '../../sync/model/revision.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { ContentMoment } from './page-data.ts'

/** Formats a number of bytes for people. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

/** Renders the way to the other pages of a list. Empty if there is one alone. */
export function pager(page: number, pages: number, addressOf: (page: number) => string): Html {
  if (pages === 1) return EMPTY_HTML
  return html`<nav class="pages" aria-label="Pages">
    ${page > 1 ? html`<a href="${addressOf(page - 1)}" rel="prev">← Previous</a>` : html`<span></span>`}
    <span class="quiet small">Page ${page} of ${pages}</span>
    ${page < pages ? html`<a href="${addressOf(page + 1)}" rel="next">Next →</a>` : html`<span></span>`}
  </nav>`
}

/** Renders a time as its distance from now. */
export function ago(at: string | undefined, now: Date): Html {
  if (at === undefined) return html`never`
  const seconds = Math.round((now.getTime() - Date.parse(at)) / 1000)
  const text = seconds >= 0 ? `${lengthText(seconds)} ago` : `in ${lengthText(-seconds)}`
  return html`<time datetime="${at}" title="${at}">${text}</time>`
}

function lengthText(seconds: number): string {
  const { of, unit } = UNITS.find(({ from }) => seconds >= from) ?? { of: 1, unit: 's' }
  return `${Math.floor(seconds / of)} ${unit}`
}

/** Hours are counted up to two days. */
const UNITS = [
  { from: 172_800, of: 86_400, unit: 'days' },
  { from: 3_600, of: 3_600, unit: 'h' },
  { from: 60, of: 60, unit: 'min' },
]

/** Renders a time as day and minute, UTC. */
export function minute(at: string | undefined): Html | undefined {
  return at === undefined ? undefined : html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 16)} UTC</time>`
}

/** Renders the last change of a skill's content, with the author of the commit that brought it. */
export function contentMoment({ at, change, commit }: ContentMoment, now: Date): Html {
  const author = commit?.words?.author ?? ''
  const by = author === '' ? EMPTY_HTML : html`, with a commit by ${isolateText(author)}`
  return html`${CHANGES[change]} ${ago(at, now)}${by}`
}

/** The change as a verb, before its time. */
export const CHANGES: Readonly<Record<ContentMoment['change'], string>> = {
  added: 'added',
  changed: 'changed',
  approved: 'approved',
  unknown: 'unchanged since at least',
}

export function shortCommit(commit: string): Html {
  return html`<code title="${commit}">${commit.slice(0, 12)}</code>`
}

/** Returns the name of a ref: a branch or tag without its prefix. */
export function refText(ref: string): string {
  if (ref === FOLDER_REF) return 'a folder'
  if (ref === LISTING_REF) return 'a listing'
  if (ref === CHANNEL_REF) return 'a channel'
  return ref.replace(/^refs\/(?:heads|tags)\//, '')
}

/** True for the ref of a git repository: the others have only a digest in place of a commit. */
export function isCommit(ref: string): boolean {
  return ![FOLDER_REF, LISTING_REF, CHANNEL_REF].includes(ref)
}

/** The message and author of a commit. */
export interface CommitWords {
  /** The first line of the message. */
  readonly subject: string
  readonly author: string
  /** The author date in the commit: ISO 8601, UTC. */
  readonly at?: string
}

/** Parses the raw commit of a snapshot. `undefined` if there is no commit: a folder has only its content. */
export function commitWords({ revision, proof }: Pick<Snapshot, 'revision' | 'proof'>): CommitWords | undefined {
  if (!isCommit(revision.ref)) return undefined
  const text = Buffer.from(proof.commit, 'base64').toString('utf8')
  const end = text.indexOf('\n\n')
  if (end === -1) return undefined
  const [, author = '', seconds = ''] = /^author (.*?) <(?:.*> (\d{1,11}) )?/m.exec(text.slice(0, end)) ?? []
  const [subject = ''] = text
    .slice(end + 2)
    .trimStart()
    .split('\n', 1)
  if (subject === '') return undefined
  const at = seconds === '' ? {} : { at: new Date(Number(seconds) * 1000).toISOString() }
  return { subject: subject.slice(0, 200).toWellFormed(), author: author.slice(0, 100).toWellFormed(), ...at }
}
