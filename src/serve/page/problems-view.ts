import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { countOf } from '../count-text.ts'
import { skillAddress } from './addresses.ts'
import type { Body } from './frame.ts'
import { html, NOTHING, said, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageHost, Problem, SourceHealth } from './page-host.ts'
import type { View } from './view.ts'

/** Every source that does not work and every SKILL.md that is not served as it stands, why, and what mends it. Nothing of what such a skill holds is shown. */
export function problemsView(view: View): Body {
  const { host, params, up } = view
  const source = params.get('source') ?? ''
  const counted = countedIn(host, source)
  const { sources, skills } = counted
  const pages = Math.max(1, Math.ceil((sources.length + skills.length) / PAGE_PROBLEMS))
  const page = Math.min(pages, Math.max(1, Number(/^\d{1,6}$/.exec(params.get('page') ?? '')?.[0] ?? 1)))
  const [from, to] = [(page - 1) * PAGE_PROBLEMS, page * PAGE_PROBLEMS]
  const shown = skills.slice(Math.max(0, from - sources.length), Math.max(0, to - sources.length))
  const addresses = addressesOf(shown, view)
  const at = (number: number): string =>
    `${up}problems?${new URLSearchParams({ source, page: String(number) }).toString()}`
  return {
    title: 'Problems',
    place: 'problems',
    content: html`<h1>Problems</h1>
      <p class="lead">
        Sources that do not work, and skills that are not served, or not as they stand, each with what mends it.
      </p>
      <div id="problems" data-live>
        <p class="quiet small">
          ${countText(counted)}${source === '' ? NOTHING : html` of ${said(source)}. <a href="${up}problems">Those of all sources</a>`}
        </p>
        <ul class="list">
          ${sources.slice(from, to).map((health) => sourceItem(health, view))}
          ${shown.map((problem) => itemOf(problem, view, addresses.get(keyOf(problem))))}
        </ul>
        ${
          pages === 1
            ? NOTHING
            : html`<nav class="pages" aria-label="Pages">
                ${page > 1 ? html`<a href="${at(page - 1)}" rel="prev">← Before</a>` : html`<span></span>`}
                <span class="quiet small">Page ${page} of ${pages}</span>
                ${page < pages ? html`<a href="${at(page + 1)}" rel="next">Next →</a>` : html`<span></span>`}
              </nav>`
        }
      </div>`,
  }
}

interface Counted {
  readonly sources: readonly SourceHealth[]
  readonly skills: readonly Problem[]
  /** The sources, and the skills that are more than noted. */
  readonly problems: number
}

/** The problems of one source, or of all. */
export function countedIn(host: PageHost, source = ''): Counted {
  const sources = host.sources().filter((health) => isOf(health.id, source) && isFailing(health))
  const skills = host.problems().filter((problem) => isOf(problem.source, source))
  return { sources, skills, problems: sources.length + skills.filter(({ standing }) => standing !== 'noted').length }
}

function isOf(id: string, source: string): boolean {
  return source === '' || id === source
}

/** The first look at a source that is under way is no problem yet. */
function isFailing({ condition, served, isLooking }: SourceHealth): boolean {
  return condition !== undefined || (served === undefined && !isLooking)
}

function countText({ problems, sources, skills }: Counted): string {
  const notes = sources.length + skills.length - problems
  const noted = notes === 0 ? '' : `, ${countOf(notes, 'note')}`
  return `${problems === 0 ? 'No problems' : countOf(problems, 'problem')}${noted}`
}

const PAGE_PROBLEMS = 100

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

/** `address`: of its page, where it has one. */
function itemOf({ source, path, standing, findings }: Problem, view: View, address?: string): Html {
  const { host, up, isWhole } = view
  const { text, tone } = STANDINGS[standing]
  const name = address === undefined ? said(path) : html`<a href="${up}${address}">${said(path)}</a>`
  return html`<li>
    <h2>
      ${isWhole ? html`<a class="quiet" href="${up}sources#${source}">${source}/</a>` : html`<span class="quiet">${source}/</span>`}${name}
      <span class="tag ${tone}">${text}</span>
    </h2>
    ${findings.map(
      ({ rule, path: at, message, mend }) =>
        html`<p>
          <strong>${rule}</strong>
          ${visible(host.clean(message))}${at === path ? NOTHING : html` <span class="quiet">${said(at)}</span>`}${mend === undefined ? NOTHING : html`<br /><span class="quiet">${visible(mend)}</span>`}
        </p>`,
    )}
  </li>`
}

/** The pages of those that are served with a note, by source and path. */
function addressesOf(shown: readonly Problem[], { catalog }: View): ReadonlyMap<string, string> {
  const noted = new Set(shown.filter(({ standing }) => standing === 'noted').map(keyOf))
  if (noted.size === 0) return new Map()
  return new Map(
    catalog.listed
      .map((entry) => ({ entry, key: keyOf({ source: entry.source, path: entry.skill.path }) }))
      .filter(({ key }) => noted.has(key))
      .map(({ entry, key }) => [key, skillAddress(entry)]),
  )
}

function keyOf({ source, path }: Pick<Problem, 'source' | 'path'>): string {
  return `${source}/${path}`
}

const STANDINGS: Readonly<Record<Problem['standing'], { readonly text: string; readonly tone: string }>> = {
  withheld: { text: 'withheld', tone: 'bad' },
  tools: { text: 'for tools only', tone: 'warn' },
  disabled: { text: 'disabled', tone: 'warn' },
  pending: { text: 'waits for approval', tone: 'warn' },
  source: { text: 'in the source', tone: 'warn' },
  noted: { text: 'served, with a note', tone: 'quiet' },
}

/** A skill that has an address and is withheld: why, and nothing else of it. */
export function withheldView({ path, findings }: Skill, source: SourceId, view: View): Body {
  return {
    status: 404,
    title: 'Withheld',
    place: 'problems',
    content: html`<h1>Withheld</h1>
      <p class="lead">This skill of ${source} is not served.</p>
      <ul class="list">
        ${itemOf({ source, path, standing: 'withheld', findings }, view)}
      </ul>`,
  }
}
