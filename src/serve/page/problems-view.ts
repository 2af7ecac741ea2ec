import type { Item, ItemProblem } from '../../sync/model/item.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { surveyProblems } from '../../sync/model/verdict/skill-problems.ts'
import { stateText } from '../../sync/model/verdict/verdict.ts'
import { pager } from './format.ts'
import { html, EMPTY_HTML, isolateText, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { MisfitDiagnostic, PathProblems, SourceHealth } from './page-data.ts'
import { messageOf } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { actionOf, countText, entriesIn } from './problem-entries.ts'
import type { ProblemAction, ProblemEntry } from './problem-entries.ts'
import { pendingAddress, skillAddress, sourceAddress } from './urls.ts'

/** Renders the problems of the hub, its sources and their skills, each with its fix. It shows no content of skills. */
export function problemsView(view: PageView): PageBody {
  const { host, params, up } = view
  const source = params.get('source') ?? ''
  const entries = entriesIn(host, source)
  const pages = Math.max(1, Math.ceil(entries.length / PAGE_PROBLEMS))
  const page = Math.min(pages, Math.max(1, Number(/^\d{1,6}$/.exec(params.get('page') ?? '')?.[0] ?? 1)))
  const shown = entries.slice((page - 1) * PAGE_PROBLEMS, page * PAGE_PROBLEMS)
  return {
    title: 'Problems',
    place: 'problems',
    content: html`<h1>Problems</h1>
      <p class="lead">
        Problems of the hub, its sources and their skills, by the action that each needs, with its fix.
      </p>
      <div id="problems" data-live>
        <p class="quiet small">
          ${countText(entries)}${source === '' ? EMPTY_HTML : html` of ${isolateText(source)}. <a href="${up}problems">All sources</a>`}
        </p>
        ${groupsOf(shown, view)}
        ${pager(page, pages, (to) => `${up}problems?${new URLSearchParams({ source, page: String(to) }).toString()}`)}
      </div>`,
  }
}

const PAGE_PROBLEMS = 100

/** Renders the entries below a heading for each action. */
function groupsOf(shown: readonly ProblemEntry[], view: PageView): Html[] {
  const addresses = addressesOf(shown, view)
  return [...Map.groupBy(shown, actionOf)].map(([action, entries]) => {
    const { title, lead } = GROUPS[action]
    return html`<section aria-label="${title}">
      <h2>${title}</h2>
      <p class="quiet">${lead}</p>
      <ul class="list">
        ${entries.map((entry) => itemOfEntry(entry, view, addresses))}
      </ul>
    </section>`
  })
}

const GROUPS: Readonly<Record<ProblemAction, { readonly title: string; readonly lead: string }>> = {
  hub: { title: 'Fix on the hub', lead: 'The state, the configuration or the network of the hub needs a change.' },
  source: {
    title: 'Fix a source',
    lead: 'The last pull of these sources failed. The hub still serves the revision that it served before, if there is one.',
  },
  decide: { title: 'Approve or reject', lead: 'The hub does not serve these until an operator approves them.' },
  content: {
    title: 'Fix in the repository',
    lead: 'These need a change in the repository of the source, or in its settings on the hub.',
  },
  retried: { title: 'Tried again', lead: 'The last attempt failed. The hub tries again by itself.' },
  decided: { title: 'Decided by an operator', lead: 'Nothing to do. Each has the command that reverts the decision.' },
  none: { title: 'Notes', lead: 'Nothing has to be done. These skills are served, or are links that lead nowhere.' },
}

function itemOfEntry(entry: ProblemEntry, view: PageView, addresses: Addresses): Html {
  switch (entry.kind) {
    case 'item':
      return itemProblem(entry.item, entry.problem, view)
    case 'source':
      return sourceItem(entry.health, view)
    case 'misfit':
      return misfitItem(entry.misfit, view, addresses)
    case 'skill':
      return itemOf(entry.problem, view, addresses.get(keyOf(entry.problem)))
    default:
      return entry satisfies never
  }
}

function itemProblem({ kind, id, source, urgency }: Item, { code, message, fix }: ItemProblem, view: PageView): Html {
  const { host, up } = view
  const isOfSource = source !== undefined && (kind === 'source' || kind === 'content')
  const name = isOfSource
    ? html`<a href="${up}${sourceAddress(source)}">${source}</a> `
    : html`${visible(host.clean(id))} `
  return html`<li>
    <h3>${name}${code} <span class="tag ${urgency === 'person' ? 'bad' : 'warn'}">${kind}</span></h3>
    <p>${messageOf(message, view)}</p>
    <p class="quiet">${messageOf(fix, view)}</p>
  </li>`
}

function misfitItem({ code, message, fix, skills }: MisfitDiagnostic, view: PageView, addresses: Addresses): Html {
  const { up } = view
  const links = skills.slice(0, MOST_LINKS).map((skill) => {
    const address = addresses.get(keyOf(skill))
    return address === undefined ? EMPTY_HTML : html`<a href="${up}${address}">${isolateText(keyOf(skill))}</a> `
  })
  return html`<li>
    <h3>${code} <span class="tag warn">between skills</span></h3>
    <p>${messageOf(message, view)}</p>
    <p>${links}</p>
    <p class="quiet">${messageOf(fix, view)}</p>
  </li>`
}

/** Equal to the number of skills that the message names. */
const MOST_LINKS = 12

function sourceItem({ id, problem, served, pending }: SourceHealth, view: PageView): Html {
  const { up } = view
  const [state, tone] = served === undefined ? ['not served', 'bad'] : ['previous revision served', 'warn']
  return html`<li>
    <h3><a href="${up}${sourceAddress(id)}">${id}</a> <span class="tag ${tone}">${state}</span></h3>
    ${
      problem === undefined
        ? html`<p>The hub has nothing of this source to serve.</p>
            <p class="quiet"><code>skillsyncd sync ${id}</code> fetches it and prints the reason if that fails</p>`
        : html`<p><strong>${problem.code}</strong> ${messageOf(problem.message, view)}</p>
            <p class="quiet">${messageOf(problem.fix, view)}</p>`
    }
    ${pending === undefined ? EMPTY_HTML : html`<p><a href="${up}${pendingAddress(id)}">Review the changes</a></p>`}
  </li>`
}

/** `address`: the page of the skill, if it has one. */
function itemOf({ source, path, state, reasons }: PathProblems, view: PageView, address?: string): Html {
  const { up, isWhole } = view
  const tone = state === 'withheld' ? 'bad' : state === 'served' ? 'quiet' : 'warn'
  const name = address === undefined ? isolateText(path) : html`<a href="${up}${address}">${isolateText(path)}</a>`
  return html`<li>
    <h3>
      ${isWhole ? html`<a class="quiet" href="${up}${sourceAddress(source)}">${source}/</a>` : html`<span class="quiet">${source}/</span>`}${name}
      <span class="tag ${tone}">${state === undefined ? 'in the source' : stateText(state)}</span>
    </h3>
    ${reasons.map(
      ({ code, place, message, fix }) =>
        html`<p>
          ${code === state ? EMPTY_HTML : html`<strong>${code}</strong> `}${messageOf(message, view)}
          ${place === `${source}/${path}` ? EMPTY_HTML : html`<span class="quiet">${isolateText(place)}</span>`}<br /><span
            class="quiet"
            >${messageOf(fix, view)}</span
          >
        </p>`,
    )}
  </li>`
}

type Addresses = ReadonlyMap<string, string>

/** The pages of served skills by source and path. */
function addressesOf(shown: readonly ProblemEntry[], { catalog }: PageView): Addresses {
  const wanted = new Set(shown.flatMap(linkedIn).map(keyOf))
  if (wanted.size === 0) return new Map()
  return new Map(
    catalog.listed
      .map((entry) => ({ entry, key: keyOf({ source: entry.source, path: entry.skill.path }) }))
      .filter(({ key }) => wanted.has(key))
      .map(({ entry, key }) => [key, skillAddress(entry)]),
  )
}

function linkedIn(entry: ProblemEntry): readonly Placed[] {
  if (entry.kind === 'misfit') return entry.misfit.skills
  return entry.kind === 'skill' && entry.problem.state === 'served' ? [entry.problem] : []
}

interface Placed {
  readonly source: string
  readonly path: string
}

function keyOf({ source, path }: Placed): string {
  return `${source}/${path}`
}

/** Renders a withheld skill that has an address: only the reason and the fix, and no content. */
export function withheldView(skill: Skill, source: SourceId, view: PageView): PageBody {
  return {
    status: 404,
    title: 'Withheld',
    place: 'problems',
    content: html`<h1>Withheld</h1>
      <p class="lead">This skill of ${source} is not served.</p>
      <h2>Fix in the repository</h2>
      <ul class="list">
        ${itemOf({ source, path: skill.path, state: 'withheld', reasons: surveyProblems(source, skill) }, view)}
      </ul>`,
  }
}
