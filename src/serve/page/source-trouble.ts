import { countOf } from '../../base/text/plural.ts'
import { html, EMPTY_HTML, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageHost, SourceHealth } from './page-data.ts'
import { pendingAddress, sourceAddress } from './urls.ts'

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

/** Returns the number of sources that need a person. */
export function troubleCount(host: Pick<PageHost, 'sources'>): number {
  return host.sources().filter(({ urgency }) => urgency === 'person').length
}

/** Renders what needs a person, and the sources that are tried again, in one line. Empty if there is none. */
export function troubleBanner(host: Pick<PageHost, 'sources' | 'items' | 'clean'>, up: string): Html {
  const by = Map.groupBy(host.sources(), troubleOf)
  const items = host.items().filter(({ kind, urgency }) => kind !== 'source' && urgency === 'person')
  const others = [
    ...items.map(({ kind, id }) => html`<a href="${up}problems">${visible(`${kind} ${host.clean(id)}`)}</a>`),
    ...linksTo(by.get('attention'), ({ id }) => `${up}problems?source=${id}`),
  ]
  const parts = [
    ...partOf(
      'fails',
      'fail',
      linksTo(by.get('failing'), ({ id }) => up + sourceAddress(id)),
    ),
    ...partOf('waits', 'wait', linksTo(by.get('waiting'), waitingAddress(up)), ' for approval'),
    ...(others.length === 0 ? [] : [html`Needs a person: ${fewOf(others)}. `]),
    ...partOf(
      'is',
      'are',
      linksTo(by.get('retried'), ({ id }) => up + sourceAddress(id)),
      ' tried again',
    ),
  ]
  const isBad = by.has('failing') || items.length > 0
  return parts.length === 0 ? EMPTY_HTML : html`<p class="note${isBad ? ' bad' : ''}">${parts}</p>`
}

function partOf(one: string, many: string, links: readonly Html[], what = ''): Html[] {
  if (links.length === 0) return []
  return [html`${countOf(links.length, 'source')} ${links.length === 1 ? one : many}${what}: ${fewOf(links)}. `]
}

function linksTo(sources: readonly SourceHealth[] | undefined, addressOf: (source: SourceHealth) => string): Html[] {
  return (sources ?? []).map((source) => html`<a href="${addressOf(source)}">${source.id}</a>`)
}

function waitingAddress(up: string): (source: SourceHealth) => string {
  return ({ id, pending }) => up + (pending === undefined ? sourceAddress(id) : pendingAddress(id))
}

function fewOf(links: readonly Html[]): Html {
  const left = links.length - MOST_NAMES
  const few = links.slice(0, MOST_NAMES).map((link, index) => html`${index === 0 ? '' : ', '}${link}`)
  return html`${few}${left > 0 ? ` and ${left} more` : ''}`
}

const MOST_NAMES = 5
