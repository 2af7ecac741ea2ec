import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SkillDiagnostic } from '../../sync/skill-md/skill-diagnostic.ts'
import { html, EMPTY_HTML, isolateText, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { HubDiagnostic, MisfitDiagnostic, PathDiagnostic, PathDiagnostics, SourceHealth } from './page-data.ts'
import { countText, entriesIn } from './problem-entries.ts'
import type { ProblemEntry } from './problem-entries.ts'
import { skillAddress } from './urls.ts'
import type { View } from './view.ts'

/** Renders the problems of the hub, its sources and their skills, each with its fix. It shows no content of skills. */
export function problemsView(view: View): PageBody {
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
        Alarms of the hub, sources that do not work, skills that do not fit together, and skills that are not served, or
        not as they stand. Each with what mends it.
      </p>
      <div id="problems" data-live>
        <p class="quiet small">
          ${countText(entries)}${source === '' ? EMPTY_HTML : html` of ${isolateText(source)}. <a href="${up}problems">Those of all sources</a>`}
        </p>
        <ul class="list">
          ${itemsOf(shown, view)}
        </ul>
        ${pages === 1 ? EMPTY_HTML : pagesOf(page, pages, `${up}problems?${new URLSearchParams({ source }).toString()}`)}
      </div>`,
  }
}

function pagesOf(page: number, pages: number, address: string): Html {
  const to = (number: number): string => `${address}&page=${number}`
  return html`<nav class="pages" aria-label="Pages">
    ${page > 1 ? html`<a href="${to(page - 1)}" rel="prev">← Before</a>` : html`<span></span>`}
    <span class="quiet small">Page ${page} of ${pages}</span>
    ${page < pages ? html`<a href="${to(page + 1)}" rel="next">Next →</a>` : html`<span></span>`}
  </nav>`
}

const PAGE_PROBLEMS = 100

function itemsOf(shown: readonly ProblemEntry[], view: View): Html[] {
  const addresses = addressesOf(shown, view)
  return shown.map((entry) => {
    switch (entry.kind) {
      case 'alarm':
        return alarmItem(entry.alarm, view)
      case 'source':
        return sourceItem(entry.health, view)
      case 'misfit':
        return misfitItem(entry.misfit, view, addresses)
      case 'skill':
        return itemOf(entry.problem, view, addresses.get(keyOf(entry.problem)))
      default:
        return entry satisfies never
    }
  })
}

function alarmItem({ code, message, mend, source }: HubDiagnostic, { host, up }: View): Html {
  const of = source === undefined ? EMPTY_HTML : html`<a href="${up}sources#${source}">${source}</a> `
  return html`<li>
    <h2>${of}${code} <span class="tag bad">the hub</span></h2>
    <p>${visible(host.clean(message))}</p>
    <p class="quiet">${visible(mend)}</p>
  </li>`
}

function misfitItem({ code, message, mend, skills }: MisfitDiagnostic, { host, up }: View, addresses: Addresses): Html {
  const links = skills.slice(0, MOST_LINKS).map((skill) => {
    const address = addresses.get(keyOf(skill))
    return address === undefined ? EMPTY_HTML : html`<a href="${up}${address}">${isolateText(keyOf(skill))}</a> `
  })
  return html`<li>
    <h2>${code} <span class="tag warn">between skills</span></h2>
    <p>${visible(host.clean(message))}</p>
    <p>${links}</p>
    <p class="quiet">${visible(mend)}</p>
  </li>`
}

/** Equal to the number of skills that the message names. */
const MOST_LINKS = 12

function sourceItem({ id, condition, served }: SourceHealth, { host, up }: View): Html {
  const state = served === undefined ? 'nothing of it is served' : 'served as it was'
  return html`<li>
    <h2><a href="${up}sources#${id}">${id}</a> <span class="tag bad">${state}</span></h2>
    ${
      condition === undefined
        ? html`<p>It was not looked at yet, or had nothing to serve.</p>`
        : html`<p><strong>${condition.code}</strong> ${visible(host.clean(condition.message))}</p>
            <p class="quiet">${visible(condition.mend)}</p>`
    }
  </li>`
}

/** `address`: the page of the skill, if it has one. */
function itemOf({ source, path, standing, diagnostics }: PathDiagnostics, view: View, address?: string): Html {
  const { host, up, isWhole } = view
  const { text, tone } = STANDINGS[standing]
  const name = address === undefined ? isolateText(path) : html`<a href="${up}${address}">${isolateText(path)}</a>`
  return html`<li>
    <h2>
      ${isWhole ? html`<a class="quiet" href="${up}sources#${source}">${source}/</a>` : html`<span class="quiet">${source}/</span>`}${name}
      <span class="tag ${tone}">${text}</span>
    </h2>
    ${diagnostics.map(
      ({ code, path: at, message, mend }) =>
        html`<p>
          <strong>${code}</strong>
          ${visible(host.clean(message))}${at === path ? EMPTY_HTML : html` <span class="quiet">${isolateText(at)}</span>`}${mend === undefined ? EMPTY_HTML : html`<br /><span class="quiet">${visible(mend)}</span>`}
        </p>`,
    )}
  </li>`
}

type Addresses = ReadonlyMap<string, string>

/** A diagnostic of a survey, without its mend. */
function pathDiagnosticOf({ rule, path, message }: SkillDiagnostic): PathDiagnostic {
  return { code: rule, path, message }
}

/** The pages of served skills by source and path. */
function addressesOf(shown: readonly ProblemEntry[], { catalog }: View): Addresses {
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
  return entry.kind === 'skill' && entry.problem.standing === 'noted' ? [entry.problem] : []
}

interface Placed {
  readonly source: string
  readonly path: string
}

function keyOf({ source, path }: Placed): string {
  return `${source}/${path}`
}

const STANDINGS: Readonly<Record<PathDiagnostics['standing'], { readonly text: string; readonly tone: string }>> = {
  withheld: { text: 'withheld', tone: 'bad' },
  tools: { text: 'for tools only', tone: 'warn' },
  disabled: { text: 'disabled', tone: 'warn' },
  pending: { text: 'waits for approval', tone: 'warn' },
  source: { text: 'in the source', tone: 'warn' },
  link: { text: 'link to nothing', tone: 'quiet' },
  noted: { text: 'served, with a note', tone: 'quiet' },
}

/** Renders a withheld skill that has an address: only the reason, and no content. */
export function withheldView({ path, findings }: Skill, source: SourceId, view: View): PageBody {
  return {
    status: 404,
    title: 'Withheld',
    place: 'problems',
    content: html`<h1>Withheld</h1>
      <p class="lead">This skill of ${source} is not served.</p>
      <ul class="list">
        ${itemOf({ source, path, standing: 'withheld', diagnostics: findings.map(pathDiagnosticOf) }, view)}
      </ul>`,
  }
}
