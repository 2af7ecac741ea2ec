import { tallyText } from '../../sync/model/verdict/verdict.ts'
import { ago, refText, shortCommit } from './format.ts'
import { html, EMPTY_HTML, isolateText, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { SourceHealth } from './page-data.ts'
import type { PageView } from './page-view.ts'
import { troubleOf } from './source-trouble.ts'
import type { SourceTrouble } from './source-trouble.ts'
import { pendingAddress } from './urls.ts'

/** Renders the sources: the served revision of each, its age, its errors and their fixes. */
export function sourcesView(view: PageView): PageBody {
  const sources = view.host.sources()
  return {
    title: 'Sources',
    place: 'sources',
    content: html`<h1>Sources</h1>
      <p class="lead">
        The origin of the skills: the served revision of each source, its state and its polls.${ringsLink(view)}
      </p>
      <div id="sources" data-live>${sources.map((source) => cardOf(source, view))}</div>`,
  }
}

function ringsLink({ host, isAdmitted, up }: PageView): Html {
  if (!isAdmitted || host.rings === undefined) return EMPTY_HTML
  return html` What each group of clients has of them is in <a href="${up}rings">Rings</a>.`
}

function cardOf(source: SourceHealth, view: PageView): Html {
  const { id, place, kind, condition, decisions, signers, update, lock, ref, served, pending } = source
  const now = view.host.now()
  const state = stateOf(source)
  return html`<section class="card" id="${id}" aria-label="Source ${id}">
    <div class="state">
      <h2>${id}</h2>
      <span class="tag ${state.tone}">${state.text}</span>
      <a class="small" href="${view.up}?source=${id}">Skills</a>
    </div>
    ${
      condition === undefined
        ? EMPTY_HTML
        : html`<div class="note${troubleOf(source) === 'failing' ? ' bad' : ''}">
            <p><strong>${condition.code}</strong> ${visible(condition.message)}</p>
            <p>${visible(condition.fix)}</p>
            ${pending === undefined ? EMPTY_HTML : html`<p><a href="${view.up}${pendingAddress(id)}">Review the changes</a></p>`}
          </div>`
    }
    ${decisions.map((text) => html`<p class="note">${visible(text)}</p>`)}
    <dl class="terms row">
      <dt>${KINDS[kind]}</dt>
      <dd class="mono">${isolateText(place)}</dd>
      ${
        kind === 'git'
          ? html`<dt>Follows</dt>
              <dd>${isolateText(ref ?? 'the default branch')}${UPDATES[update]}</dd>`
          : EMPTY_HTML
      }
      ${
        lock === undefined
          ? EMPTY_HTML
          : html`<dt>Lock</dt>
              <dd>${isolateText(lock.text)}</dd>`
      }
      <dt>Serves</dt>
      <dd>${servedText(served)}</dd>
      ${
        pending === undefined
          ? EMPTY_HTML
          : html`<dt>Pending</dt>
              <dd>${isolateText(refText(pending.ref))} at ${shortCommit(pending.id)}, waits for approval</dd>`
      }
      <dt>Upstream</dt>
      <dd>${upstreamText(source, now)}</dd>
      ${signers.map(
        (signer) =>
          html`<dt>Signed</dt>
            <dd>${isolateText(signer)}</dd>`,
      )}
      <dt>Last poll</dt>
      <dd>${ago(source.lastAttempt, now)}, last success ${ago(source.lastSuccess, now)}</dd>
      <dt>Next poll</dt>
      <dd>${nextPollText(source, now)}</dd>
      <dt>Skills</dt>
      <dd>${skillsOf(source, view.up)}</dd>
    </dl>
  </section>`
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
function stateOf(source: SourceHealth): State {
  const trouble = troubleOf(source)
  if (trouble !== undefined) return TROUBLES[trouble]
  const { served, upstream, condition, decisions, lock, isFixed, isLooking } = source
  if (condition !== undefined || decisions.length > 0) return { text: 'kept by an operator', tone: 'warn' }
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

function skillsOf({ id, tally }: SourceHealth, up: string): Html {
  const isClean = tally.seen === tally.served
  return html`${tallyText(tally)}${isClean ? EMPTY_HTML : html`. <a href="${up}problems?source=${id}">Reasons</a>`}`
}
