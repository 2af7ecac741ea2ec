import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Body } from './frame.ts'
import { html, NOTHING, said, visible } from './html.ts'
import type { Html } from './html.ts'
import type { Problem } from './page-host.ts'
import type { View } from './view.ts'

/** Every SKILL.md that is not served as it stands, and why. Nothing of what such a skill holds is shown. */
export function problemsView(view: View): Body {
  const { host, params, up } = view
  const source = params.get('source') ?? ''
  const all = host.problems().filter((problem) => source === '' || problem.source === source)
  const pages = Math.max(1, Math.ceil(all.length / PAGE_PROBLEMS))
  const page = Math.min(pages, Math.max(1, Number(/^\d{1,6}$/.exec(params.get('page') ?? '')?.[0] ?? 1)))
  const shown = all.slice((page - 1) * PAGE_PROBLEMS, page * PAGE_PROBLEMS)
  const to = (number: number): string =>
    `${up}problems?${new URLSearchParams({ source, page: String(number) }).toString()}`
  return {
    title: 'Problems',
    place: 'problems',
    content: html`<h1>Problems</h1>
      <p class="lead">What was found and is not served, or not as it stands.</p>
      <div id="problems" data-live>
        <p class="quiet small">
          ${all.length === 1 ? '1 entry' : `${all.length} entries`}${source === '' ? NOTHING : html` of ${said(source)}. <a href="${up}problems">Those of all sources</a>`}
        </p>
        <ul class="list">
          ${shown.map((problem) => itemOf(problem, view))}
        </ul>
        ${
          pages === 1
            ? NOTHING
            : html`<nav class="pages" aria-label="Pages">
                ${page > 1 ? html`<a href="${to(page - 1)}" rel="prev">← Before</a>` : html`<span></span>`}
                <span class="quiet small">Page ${page} of ${pages}</span>
                ${page < pages ? html`<a href="${to(page + 1)}" rel="next">Next →</a>` : html`<span></span>`}
              </nav>`
        }
      </div>`,
  }
}

const PAGE_PROBLEMS = 100

function itemOf({ source, path, standing, findings }: Problem, { host }: View): Html {
  const { text, tone } = STANDINGS[standing]
  return html`<li>
    <h2><span class="quiet">${source}/</span>${said(path)} <span class="tag ${tone}">${text}</span></h2>
    ${findings.map(({ rule, path: at, message }) => html`<p><strong>${rule}</strong> ${visible(host.clean(message))}${at === path ? NOTHING : html` <span class="quiet">${said(at)}</span>`}</p>`)}
  </li>`
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
