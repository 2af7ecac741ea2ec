import { countOf } from '../../base/text/plural.ts'
import { ago, shortCommit } from '../../serve/page/format.ts'
import { html, EMPTY_HTML, isolateText, visible } from '../../serve/page/html.ts'
import type { Html } from '../../serve/page/html.ts'
import type { PageBody } from '../../serve/page/layout.ts'
import type { PageRing, PageRingSource } from '../../serve/page/page-data.ts'
import type { PageView } from '../../serve/page/page-view.ts'

/** Renders each ring: the commit that it has of each source, what it takes next, and what stops that. */
export function ringsView({ host, up }: Pick<PageView, 'host' | 'up'>, rings: readonly PageRing[]): PageBody {
  const now = host.now()
  return {
    title: 'Rings',
    content: html`<h1>Rings</h1>
      <p class="lead">
        The groups of clients that get new commits one after the other, that of the newest content first. The state of
        each source upstream is in <a href="${up}sources">Sources</a>.
      </p>
      <div id="rings" data-live>${rings.map((ring, at) => cardOf(ring, at, now))}</div>`,
  }
}

function cardOf(ring: PageRing, at: number, now: Date): Html {
  const behind = ring.sources.filter(({ isNewest }) => !isNewest)
  const stopped = behind.filter((source) => source.stopped !== undefined).length
  const state = stateLabel(behind.length, stopped)
  // Those with other content are the ones that people ask about.
  const shown = [...behind, ...ring.sources.filter(({ isNewest }) => isNewest)].slice(0, SHOWN_SOURCES)
  return html`<section class="card" id="ring-${ring.id}" aria-label="Ring ${ring.id}">
    <div class="state">
      <h2>${isolateText(ring.id)}</h2>
      <span class="tag ${state.tone}">${state.text}</span>
    </div>
    <p class="quiet small">${at === 0 ? 'It gets each commit at once' : ageText(ring)}; ${shareText(ring)}.</p>
    <div class="wide" role="region" aria-label="Sources of the ring ${ring.id}" tabindex="0">
      <table>
        <thead>
          <tr>
            ${COLUMNS.map((text) => html`<th scope="col">${text}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${shown.map((source) => rowOf(source, now))}
        </tbody>
      </table>
    </div>
    ${moreThan(shown.length, ring.sources.length)}
  </section>`
}

const COLUMNS = ['Source', 'Commit', 'Since', 'Next', 'Stopped by']

/** A table of all sources of a large hub would be megabytes. */
const SHOWN_SOURCES = 200

function stateLabel(behind: number, stopped: number): { readonly text: string; readonly tone: string } {
  if (stopped > 0) return { text: `${countOf(stopped, 'source')} stopped`, tone: 'warn' }
  return behind > 0
    ? { text: `other content of ${countOf(behind, 'source')}`, tone: 'warn' }
    : { text: 'has the newest content', tone: 'good' }
}

function rowOf({ source, commit, since, isNewest, next, nextAt, stopped }: PageRingSource, now: Date): Html {
  return html`<tr>
    <th scope="row">${isolateText(source)}</th>
    <td>${commit === undefined ? noCommitText(stopped) : shortCommit(commit)}</td>
    <td>${since === undefined ? (isNewest ? 'the newest' : '') : ago(since, now)}</td>
    <td>${next === undefined ? '' : html`${shortCommit(next)} ${nextAt === undefined ? 'now' : ago(nextAt, now)}`}</td>
    <td>${stopped === undefined ? '' : html`<strong>${stopped.code}</strong> ${visible(stopped.message)}`}</td>
  </tr>`
}

/** Beside a hold, the ring may have what the first ring has. */
function noCommitText(stopped: PageRingSource['stopped']): string {
  return stopped?.code === 'held' ? 'held' : 'nothing yet'
}

function ageText({ minAge }: PageRing): string {
  return minAge === undefined
    ? 'It takes what the ring before it has at once'
    : `It takes what the ring before it has had for ${minAge}`
}

function shareText({ share }: PageRing): string {
  return `${Math.round(share * 10_000) / 100} % of the principals that no ring names`
}

function moreThan(shown: number, all: number): Html {
  if (all === shown) return EMPTY_HTML
  return html`<p class="quiet small">
    ${all - shown} more: <code>skillsyncd status --rings</code> shows all that differ.
  </p>`
}
