import { DerivedCache } from '../../../base/memo.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { BudgetSummary, ClientBudget } from '../../../sync/budget/budget-summary.ts'
import { costText, overlapLines } from '../../../sync/budget/budget-text.ts'
import { catalogBudget } from '../../../sync/budget/catalog-budget.ts'
import type { CatalogBudget, PackBudget } from '../../../sync/budget/catalog-budget.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { html, EMPTY_HTML, isolateText, visible } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageBody } from '../layout.ts'
import type { View } from '../view.ts'

/** Renders what agents list of the skills that the reader sees, all together and by pack, and what is lost. */
export function budgetView(view: View): PageBody {
  return {
    title: 'Context budget',
    content: html`<h1>Context budget</h1>
      <p class="lead">
        The list of names and descriptions that an agent gives to its model before it loads any skill. Over its limit,
        an agent shortens or drops descriptions, or whole skills, and the model is not told.
      </p>
      <div id="budget" data-live>${contentOf(view)}</div>`,
  }
}

function contentOf(view: View): Html {
  const { catalog } = view
  if (catalog.listed.length > MOST_SKILLS)
    return html`<p>These are more than ${MOST_SKILLS} skills: <code>skillsyncd status</code> has their figures.</p>`
  const budget = budgetOf(view)
  return html`${sectionOf('All skills', budget)}${budget.packs.map((pack) => sectionOf(`Pack ${pack.pack}`, pack))}`
}

/** The search for overlaps of more skills would keep other requests waiting. */
const MOST_SKILLS = 2_000

/** Works the figures out once for a catalog, until the packs or their limits change. */
function budgetOf({ catalog, packs, host }: View): CatalogBudget {
  const key = JSON.stringify([packs, [...host.packBudgets]])
  const known = KNOWN.of(catalog, () => ({ key, budget: catalogBudget(catalog, packs, host.packBudgets) }))
  if (known.key === key) return known.budget
  KNOWN.forget(catalog)
  return KNOWN.of(catalog, () => ({ key, budget: catalogBudget(catalog, packs, host.packBudgets) })).budget
}

const KNOWN = new DerivedCache<Catalog, { readonly key: string; readonly budget: CatalogBudget }>()

function sectionOf(title: string, budget: CatalogBudget | PackBudget): Html {
  return html`<section class="card" aria-label="${title}">
    <h2>${visible(title)}</h2>
    <p class="quiet small">
      ${countOf(budget.skills, 'skill')}${'isLimited' in budget && budget.isLimited ? ', with a limit that holds commits' : ''}
    </p>
    <dl class="terms row">${budget.clients.map(termOf)}</dl>
    ${overlapsOf(budget)}
  </section>`
}

function termOf({ client, allowance, needs, skills, full, fates, affected }: ClientBudget): Html {
  const tokens = allowance.unit === 'tokens' ? '' : `, about ${countOf(full.tokens, 'token')}`
  const isOver = needs > allowance.limit
  const shown = affected.slice(0, SHOWN_SKILLS)
  const left = skills - fates.whole - shown.length
  return html`<dt>${client}</dt>
    <dd>
      <span class="${isOver ? 'warn' : 'good'}">${costText({ needs, allowance })}</span>${tokens}
      ${
        shown.length === 0
          ? EMPTY_HTML
          : html`<ul class="small">
              ${shown.map(({ id, fate, kept, length }) => html`<li>${isolateText(id)}: ${fateText(fate, kept, length)}</li>`)}
              ${left > 0 ? html`<li>${left} more</li>` : EMPTY_HTML}
            </ul>`
      }
    </dd>`
}

function fateText(fate: ClientBudget['affected'][number]['fate'], kept: number, length: number): string {
  if (fate === 'omitted') return 'not listed'
  return fate === 'name-only' ? `its description (${length} characters) is dropped` : `${kept} of ${length} characters`
}

/** More of them say nothing new. */
const SHOWN_SKILLS = 20

function overlapsOf(budget: BudgetSummary): Html {
  const lines = overlapLines(budget)
  if (lines.length === 0) return EMPTY_HTML
  return html`<ul class="small">
    ${lines.map((line) => html`<li>${isolateText(line)}</li>`)}
  </ul>`
}
