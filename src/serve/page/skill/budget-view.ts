import { Memo } from '../../../base/memo.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { BudgetSummary, ClientBudget } from '../../../sync/catalog/budget/budget-summary.ts'
import { costText, overlapLines } from '../../../sync/catalog/budget/budget-text.ts'
import { areListingsWithin, catalogBudget } from '../../../sync/catalog/budget/catalog-budget.ts'
import type { CatalogBudget, PackBudget } from '../../../sync/catalog/budget/catalog-budget.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { html, EMPTY_HTML, isolateText, visible } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageBody } from '../layout.ts'
import type { PageView } from '../page-view.ts'

/** Renders what agents list of the skills that the reader sees, all together and by pack, and what is lost. */
export function budgetView(view: PageView): PageBody {
  return {
    title: 'Context budget',
    place: 'budget',
    content: html`<h1>Context budget</h1>
      <p class="lead">
        The list of names and descriptions that an agent gives to its model before it loads any skill. Over its limit,
        an agent shortens or drops descriptions, or whole skills, and the model gets no notice of it.
      </p>
      <div id="budget" data-live>${contentOf(view)}</div>`,
  }
}

function contentOf(view: PageView): Html {
  const budget = budgetOf(view)
  if (budget === undefined)
    return html`<p>
      All skills and those of each pack are together more than ${MOST_SKILLS}: <code>skillsyncd status</code> has their
      figures.
    </p>`
  return html`${sectionOf('All skills', budget)}${budget.packs.map((pack) => sectionOf(`Pack ${pack.pack}`, pack))}`
}

/** Counted once for all and once for each pack, as the search for overlaps runs. More would keep other requests waiting. */
const MOST_SKILLS = 2_000

/** Works the figures out once for a catalog, until the packs or their limits change. `undefined` for too many skills. */
function budgetOf({ catalog, packs, host }: PageView): CatalogBudget | undefined {
  const key = JSON.stringify([packs, host.packBudgets])
  const make = (): KnownBudget => ({
    key,
    budget: areListingsWithin(catalog, packs, MOST_SKILLS)
      ? catalogBudget(catalog, packs, host.packBudgets)
      : undefined,
  })
  const known = KNOWN.of(catalog, make)
  if (known.key === key) return known.budget
  KNOWN.forget(catalog)
  return KNOWN.of(catalog, make).budget
}

interface KnownBudget {
  readonly key: string
  readonly budget: CatalogBudget | undefined
}

const KNOWN = new Memo<Catalog, KnownBudget>()

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

function termOf({ client, of, allowance, cost, skills, full, visibility, affected }: ClientBudget): Html {
  const tokens = allowance.unit === 'tokens' ? '' : `, about ${countOf(full.tokens, 'token')}`
  const isOver = cost > allowance.limit
  const shown = affected.slice(0, SHOWN_SKILLS)
  const left = skills - visibility.whole - shown.length
  return html`<dt>${client}, ${of}</dt>
    <dd>
      <span class="${isOver ? 'warn' : 'good'}">${costText({ cost, allowance })}</span>${tokens}
      ${
        shown.length === 0
          ? EMPTY_HTML
          : html`<ul class="small">
              ${shown.map(({ id, visibility, kept, length }) => html`<li>${isolateText(id)}: ${visibilityText(visibility, kept, length)}</li>`)}
              ${left > 0 ? html`<li>${left} more</li>` : EMPTY_HTML}
            </ul>`
      }
    </dd>`
}

function visibilityText(
  visibility: ClientBudget['affected'][number]['visibility'],
  kept: number,
  length: number,
): string {
  if (visibility === 'omitted') return 'not listed'
  return visibility === 'name-only'
    ? `its description (${length} characters) is dropped`
    : `${kept} of ${length} characters`
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
