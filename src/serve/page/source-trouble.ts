import { countOf } from '../../base/text/plural.ts'
import type { Item } from '../../sync/model/item.ts'
import { html, EMPTY_HTML, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageHost, SourceHealth } from './page-data.ts'
import type { PageView } from './page-view.ts'
import { pendingAddress } from './urls.ts'

/**
 * The trouble of a source. `failing`: it needs a person. `retried`: its last attempt failed, and the next one may not.
 * `waiting`: its revision upstream is served only if an operator approves it. `attention`: it is served, and a skill or
 * its address needs a person.
 */
export type SourceTrouble = 'failing' | 'retried' | 'waiting' | 'attention'

/** Returns `undefined` if the source is well, or as a person wants it. */
export function troubleOf({ state, urgency }: SourceHealth): SourceTrouble | undefined {
  if (state === 'waiting') return 'waiting'
  if (state === 'failing') return urgency === 'retried' ? 'retried' : 'failing'
  return urgency === 'person' ? 'attention' : undefined
}

/** Returns the number of sources in trouble. */
export function troubleCount(host: Pick<PageHost, 'sources'>): number {
  return host.sources().filter((health) => troubleOf(health) !== undefined).length
}

/** Renders what needs a person, and the sources that are tried again, for the top of every page. Empty if there is none. */
export function troubleBanner(host: Pick<PageHost, 'sources' | 'items' | 'clean'>, up: string): Html {
  const by = Map.groupBy(host.sources(), troubleOf)
  const lines = [
    [by.get('failing'), (all: readonly SourceHealth[]) => failingLine(all, host, up)],
    [by.get('retried'), (all: readonly SourceHealth[]) => retriedLine(all, up)],
    [by.get('waiting'), (all: readonly SourceHealth[]) => waitingLine(all, up)],
    [by.get('attention'), (all: readonly SourceHealth[]) => attentionLine(all, up)],
  ] as const
  return html`${itemsLine(host.items(), host, up)}${lines.map(([all, draw]) => (all === undefined ? EMPTY_HTML : draw(all)))}`
}

/** Renders the names of the other items that need a person. */
function itemsLine(items: readonly Item[], host: Pick<PageHost, 'clean'>, up: string): Html {
  const urgent = items.filter(({ kind, urgency }) => kind !== 'source' && urgency === 'person')
  if (urgent.length === 0) return EMPTY_HTML
  const names = urgent.slice(0, MOST_NAMES).map(({ kind, id }) => `${kind} ${host.clean(id)}`)
  const left = urgent.length - names.length
  return html`<p class="note bad">
    Needs a person: ${visible(names.join(', '))}${left > 0 ? ` and ${left} more` : ''}.
    <a href="${up}problems">Problems</a>
  </p>`
}

function attentionLine(sources: readonly SourceHealth[], up: string): Html {
  return html`<p class="note">Needs a person: ${namesOf(sources, ({ id }) => `${up}problems?source=${id}`)}</p>`
}

function retriedLine(retried: readonly SourceHealth[], up: string): Html {
  return html`<p class="note">
    ${countOf(retried.length, 'source')} ${retried.length === 1 ? 'is' : 'are'} tried again:
    ${namesOf(retried, ({ id }) => `${up}sources#${id}`)}
  </p>`
}

function failingLine(failing: readonly SourceHealth[], host: Pick<PageHost, 'clean'>, up: string): Html {
  const reason = failing.length === 1 ? failing[0]?.condition?.message : undefined
  return html`<p class="note bad">
    ${countOf(failing.length, 'source')} ${failing.length === 1 ? 'fails' : 'fail'}:
    ${namesOf(failing, ({ id }) => `${up}sources#${id}`)}${reason === undefined ? EMPTY_HTML : html` — ${visible(cut(host.clean(reason)))}`}.
    <a href="${up}sources">Sources</a>
  </p>`
}

function waitingLine(waiting: readonly SourceHealth[], up: string): Html {
  return html`<p class="note">
    ${countOf(waiting.length, 'source')} ${waiting.length === 1 ? 'waits' : 'wait'} for approval:
    ${namesOf(waiting, ({ id, pending }) => up + (pending === undefined ? `sources#${id}` : pendingAddress(id)))}
  </p>`
}

function namesOf(sources: readonly SourceHealth[], addressOf: (source: SourceHealth) => string): Html {
  const links = sources.slice(0, MOST_NAMES).map((source, index) => {
    const comma = index === 0 ? '' : ', '
    return html`${comma}<a href="${addressOf(source)}">${source.id}</a>`
  })
  const left = sources.length - MOST_NAMES
  return html`${links}${left > 0 ? ` and ${left} more` : ''}`
}

const MOST_NAMES = 5

/** The page of the sources has the whole message. */
function cut(message: string): string {
  return message.length > MOST_CHARACTERS ? `${message.slice(0, MOST_CHARACTERS).toWellFormed()}…` : message
}

const MOST_CHARACTERS = 240

/** Renders the reason for each source why the catalog has no skill, for the start page. */
export function emptyReasons({ host, up }: Pick<PageView, 'host' | 'up'>): Html {
  const sources = host.sources()
  const left = sources.length - MOST_REASONS
  return html`<p>No skill is served yet.</p>
    <ul class="list">
      ${sources.slice(0, MOST_REASONS).map((health) => emptyReason(health, host, up))}
    </ul>
    ${left > 0 ? html`<p class="quiet">${countOf(left, 'further source')}: <a href="${up}sources">Sources</a></p>` : EMPTY_HTML}
    <p class="quiet small">To add a source, run <code>skillsyncd add URL</code> on the hub.</p>`
}

const MOST_REASONS = 20

function emptyReason(health: SourceHealth, host: Pick<PageHost, 'clean'>, up: string): Html {
  const { id, condition } = health
  const { tag, tone, text } = emptyState(health, up)
  const reason =
    condition === undefined
      ? EMPTY_HTML
      : html`<p><strong>${condition.code}</strong> ${visible(host.clean(condition.message))}</p>
          <p class="quiet">${visible(condition.fix)}</p>`
  return html`<li>
    <h2><a href="${up}sources#${id}">${id}</a> <span class="tag ${tone}">${tag}</span></h2>
    ${reason}
    <p>${text}</p>
  </li>`
}

/** Renders the state of a source without a listed skill. */
function emptyState(health: SourceHealth, up: string): { readonly tag: string; readonly tone: string; text: Html } {
  const { id, served, lastAttempt, isLooking, pending } = health
  if (pending !== undefined)
    return {
      tag: 'waits for approval',
      tone: 'warn',
      text: html`<a href="${up}${pendingAddress(id)}">Review the changes</a>`,
    }
  if (health.state === 'failing')
    return {
      tag: 'failed',
      tone: 'bad',
      text: html`On the hub, <code>skillsyncd status</code> and the log of the daemon have the details.`,
    }
  if (served !== undefined || lastAttempt !== undefined)
    return {
      tag: 'no listed skill',
      tone: 'warn',
      text: html`<a href="${up}problems?source=${id}">Its problems</a> have the reason for each skill.`,
    }
  return isLooking
    ? { tag: 'pulling', tone: 'good', text: html`The first pull is running.` }
    : { tag: 'not pulled', tone: 'warn', text: html`The first pull has not started.` }
}
