import { countOf } from '../../base/text/plural.ts'
import { tallyText } from '../../sync/model/verdict/verdict.ts'
import { ago, refText, shortCommit } from './format.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { SourceHealth } from './page-data.ts'
import { messageOf } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { troubleOf } from './source-trouble.ts'
import type { SourceTrouble } from './source-trouble.ts'
import { pendingAddress } from './urls.ts'

/** Renders the sources, those in trouble first: the state of each, and on a click the rest. */
export function sourcesView(view: PageView): PageBody {
  return {
    title: 'Sources',
    place: 'sources',
    content: html`<h1>Sources</h1>
      ${ringsLink(view)}
      <div id="sources" class="table" data-live>${sourceRows(view)}</div>`,
  }
}

/** Renders a row for each source, and why the catalog has no skill, for the start page. */
export function emptyReasons(view: Pick<PageView, 'host' | 'up'>): Html {
  const left = view.host.sources().length - MOST_REASONS
  return html`<p>No skill is served yet.</p>
    <div class="table">${sourceRows(view).slice(0, MOST_REASONS)}</div>
    ${left > 0 ? html`<p class="quiet">${countOf(left, 'further source')}: <a href="${view.up}sources">Sources</a></p>` : EMPTY_HTML}
    <p class="quiet small">To add a source, run <code>skillsyncd add URL</code> on the hub.</p>`
}

const MOST_REASONS = 20

function sourceRows(view: Pick<PageView, 'host' | 'up'>): Html[] {
  const sources = view.host.sources().toSorted((a, b) => rankOf(a) - rankOf(b))
  return sources.map((source) => rowOf(source, view))
}

function rankOf(source: SourceHealth): number {
  const index = RANKS.indexOf(troubleOf(source))
  return index === -1 ? RANKS.length : index
}

const RANKS: readonly (SourceTrouble | undefined)[] = ['failing', 'waiting', 'attention', 'retried']

function ringsLink({ host, isAdmitted, up }: PageView): Html {
  if (!isAdmitted || host.rings === undefined) return EMPTY_HTML
  return html`<p class="quiet">What each group of clients has of them is in <a href="${up}rings">Rings</a>.</p>`
}

function rowOf(source: SourceHealth, view: Pick<PageView, 'host' | 'up'>): Html {
  const { id, problem, decisions, lastSuccess, pending, served, tally } = source
  const { text, tone } = stateLabel(source)
  return html`<section aria-label="Source ${id}">
    <details id="source-${id}">
      <summary>
        <h2>${id}</h2>
        <span><span class="tag ${tone}">${text}</span></span>
        <span>${tallyText(tally)}</span>
        <span>${servedText(served)}</span>
        <span>polled ${ago(lastSuccess, view.host.now())}</span>
      </summary>
      ${detailsOf(source, view)}
    </details>
    ${
      problem === undefined
        ? EMPTY_HTML
        : html`<div class="note${troubleOf(source) === 'failing' ? ' bad' : ''}">
            <p><strong>${problem.code}</strong> ${messageOf(problem.message, view)}</p>
            <p>${messageOf(problem.fix, view)}</p>
            ${pending === undefined ? EMPTY_HTML : html`<p><a href="${view.up}${pendingAddress(id)}">Review the changes</a></p>`}
          </div>`
    }
    ${decisions.map((decision) => html`<p class="note">${messageOf(decision, view)}</p>`)}
  </section>`
}

function detailsOf(source: SourceHealth, { host, up }: Pick<PageView, 'host' | 'up'>): Html {
  const { id, place, kind, signers, update, lock, ref, pending, lastAttempt, lastSuccess, tally } = source
  const now = host.now()
  const follows = html`${isolateText(ref ?? 'the default branch')}${UPDATES[update]}`
  const reasons = tally.seen === tally.served ? EMPTY_HTML : html`. <a href="${up}problems?source=${id}">Reasons</a>`
  const terms: readonly (readonly [term: string, text: Html | undefined])[] = [
    [KINDS[kind], html`<span class="mono">${isolateText(place)}</span>`],
    ['Follows', kind === 'git' ? follows : undefined],
    ['Lock', lock && isolateText(lock.text)],
    [
      'Pending',
      pending && html`${isolateText(refText(pending.ref))} at ${shortCommit(pending.id)}, waits for approval`,
    ],
    ['Upstream', upstreamText(source, now)],
    ...signers.map((signer) => ['Signed', isolateText(signer)] as const),
    ['Last poll', html`${ago(lastAttempt, now)}, last success ${ago(lastSuccess, now)}`],
    ['Next poll', nextPollText(source, now)],
    ['Skills', html`<a href="${up}?source=${id}">${tallyText(tally)}</a>${reasons}`],
  ]
  return html`<dl class="terms row">
    ${terms.map(([term, text]) =>
      text === undefined
        ? EMPTY_HTML
        : html`<dt>${term}</dt>
            <dd>${text}</dd>`,
    )}
  </dl>`
}

const KINDS: Readonly<Record<SourceHealth['kind'], string>> = {
  git: 'Repository',
  directory: 'Directory',
  mcp: 'MCP server',
  channel: 'Channel',
}

const UPDATES: Readonly<Record<SourceHealth['update'], string>> = {
  auto: '',
  locked: ', updated by the lock only',
  review: ', each revision needs approval',
}

interface State {
  readonly text: string
  readonly tone: string
}

/**
 * Returns the state to show. "Up to date" requires the two equal commits that prove it. A source that a person keeps
 * from changing never has this state.
 */
function stateLabel(source: SourceHealth): State {
  const trouble = troubleOf(source)
  if (trouble !== undefined) return TROUBLES[trouble]
  const { served, upstream, problem, decisions, lock, isFixed, isLooking } = source
  if (problem !== undefined || decisions.length > 0) return { text: 'kept by an operator', tone: 'warn' }
  if (served === undefined) return { text: isLooking ? 'first pull' : 'not pulled yet', tone: 'warn' }
  if (isFixed) return { text: 'fixed commit', tone: 'good' }
  if (upstream?.commit === served.commit && served.place === undefined) return { text: 'up to date', tone: 'good' }
  if (lock?.isFollowed === true) return { text: 'locked', tone: 'good' }
  return upstream === undefined ? { text: 'not polled yet', tone: 'warn' } : { text: 'behind', tone: 'warn' }
}

const TROUBLES: Readonly<Record<SourceTrouble, State>> = {
  failing: { text: 'failing', tone: 'bad' },
  retried: { text: 'tried again', tone: 'warn' },
  waiting: { text: 'waits for approval', tone: 'warn' },
  attention: { text: 'needs a person', tone: 'warn' },
}

function nextPollText({ isLooking, nextPoll }: SourceHealth, now: Date): Html {
  if (isLooking) return html`running now`
  return nextPoll === undefined ? html`not scheduled` : ago(nextPoll, now)
}

function servedText(served: SourceHealth['served']): Html {
  if (served === undefined) return html`<span class="bad">nothing</span>`
  const from =
    served.place === undefined
      ? EMPTY_HTML
      : html`, from ${isolateText(served.place)}, the previous address of the source`
  return html`${isolateText(refText(served.ref))} at ${shortCommit(served.commit)}${from}`
}

function upstreamText({ upstream, isFixed }: SourceHealth, now: Date): Html {
  if (isFixed) return html`<span class="quiet">not queried: the configuration names this commit</span>`
  if (upstream === undefined) return html`<span class="quiet">not queried yet</span>`
  return html`at ${shortCommit(upstream.commit)}, ${ago(upstream.at, now)}`
}
