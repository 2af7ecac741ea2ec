import { countOf } from '../../base/text/plural.ts'
import { html, EMPTY_HTML, isolateText } from '../../serve/page/html.ts'
import type { Html } from '../../serve/page/html.ts'
import type { PageBody } from '../../serve/page/layout.ts'
import type { PageUses } from '../../serve/page/page-data.ts'
import type { PageView } from '../../serve/page/page-view.ts'
import { skillAddress } from '../../serve/page/urls.ts'
import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import { pathIdOf } from '../../sync/catalog/tool-catalog.ts'
import type { Skill } from '../../sync/model/skill.ts'

/** Renders how often clients used each listed skill, and the skills that none used. */
export async function usageView(view: PageView, uses: PageUses): Promise<PageBody> {
  const rows = rowsOf(view, uses)
  const order = orderOf(view.params.get('by'))
  const used = rows.filter(({ last, failures }) => last !== undefined || failures > 0).toSorted(ORDERS[order])
  const unused = rows.filter(({ last, failures }) => last === undefined && failures === 0)
  return {
    title: 'Use',
    place: 'usage',
    content: html`<h1>Use</h1>
      <p class="lead">
        How often clients were given a list that shows a skill, its instructions, and other files of it, and how often
        that failed, in the last ${uses.days} days. ${sinceText(uses)} The counts are a few minutes old, and say nothing
        of agents that read skills from folders, a marketplace or a channel.
      </p>
      <section class="card" aria-labelledby="used">
        <h2 id="used">Used skills</h2>
        ${used.length === 0 ? html`<p>No client used a listed skill.</p>` : tableOf(used, order, view)}
      </section>
      <section class="card" aria-labelledby="unused">
        <h2 id="unused">Unused skills</h2>
        ${unused.length === 0 ? html`<p>Every listed skill was used.</p>` : unusedOf(unused, view)}
      </section>`,
  }
}

/** The use of one skill. */
interface UseRow {
  readonly entry: CatalogSkill
  readonly name: string
  readonly lists: number
  readonly loads: number
  readonly reads: number
  readonly failures: number
  /** The last day with a load or a read; `undefined` if there is none. */
  readonly last: string | undefined
}

function rowsOf(view: PageView, uses: PageUses): UseRow[] {
  const listsOf = listCounter(view, uses)
  return view.catalog.listed.map((entry) => {
    const name = pathIdOf(entry)
    const { loads = 0, reads = 0, failures = 0, last } = uses.skills.get(name) ?? {}
    return { entry, name, lists: listsOf(entry.skill), loads, reads, failures, last }
  })
}

/** A list counts for the skills that its view has now. */
function listCounter({ catalog, packs }: PageView, { lists }: PageUses): (skill: Skill) => number {
  const members = new Map(
    packs.map((pack) => [pack.id, new Set(catalog.snapshots.flatMap((snapshot) => [...packedIn(snapshot, pack)]))]),
  )
  return (skill) =>
    lists.reduce((sum, { packs: ids, lists: count }) => {
      const isShown = ids === undefined || ids.some((id) => members.get(id)?.has(skill) === true)
      return isShown ? sum + count : sum
    }, 0)
}

/** The columns by which the table can be sorted, with the order of each. */
const ORDERS = {
  loads: (a: UseRow, b: UseRow) => b.loads - a.loads || b.reads - a.reads || compareNames(a, b),
  reads: (a: UseRow, b: UseRow) => b.reads - a.reads || b.loads - a.loads || compareNames(a, b),
  lists: (a: UseRow, b: UseRow) => b.lists - a.lists || b.loads - a.loads || compareNames(a, b),
  failures: (a: UseRow, b: UseRow) => b.failures - a.failures || b.loads - a.loads || compareNames(a, b),
  last: (a: UseRow, b: UseRow) => compareTexts(b.last ?? '', a.last ?? '') || b.loads - a.loads || compareNames(a, b),
  skill: compareNames,
} as const

type Order = keyof typeof ORDERS

function compareNames(a: UseRow, b: UseRow): number {
  return compareTexts(a.name, b.name)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function orderOf(text: string | null): Order {
  return text !== null && isOrder(text) ? text : 'loads'
}

function isOrder(text: string): text is Order {
  return Object.hasOwn(ORDERS, text)
}

const COLUMNS: readonly (readonly [Order, string])[] = [
  ['skill', 'Skill'],
  ['lists', 'Lists'],
  ['loads', 'Loads'],
  ['reads', 'Reads'],
  ['failures', 'Failures'],
  ['last', 'Last used'],
]

function tableOf(rows: readonly UseRow[], order: Order, view: PageView): Html {
  const shown = rows.slice(0, SHOWN_SKILLS)
  return html`<div class="wide" role="region" aria-label="Counts of used skills" tabindex="0">
      <table>
        <thead>
          <tr>
            ${COLUMNS.map(([of, text]) => headOf(of, text, of === order))}
          </tr>
        </thead>
        <tbody>
          ${shown.map((row) => rowHtml(row, view))}
        </tbody>
      </table>
    </div>
    ${moreThan(shown.length, rows.length)}`
}

function headOf(of: Order, text: string, isSorted: boolean): Html {
  const sorted = isSorted ? html` aria-sort="${of === 'skill' ? 'ascending' : 'descending'}"` : EMPTY_HTML
  const side = NUMBERS.has(of) ? html` class="right"` : EMPTY_HTML
  return html`<th scope="col" ${side}${sorted}><a href="?by=${of}">${text}</a></th>`
}

const NUMBERS: ReadonlySet<Order> = new Set(['lists', 'loads', 'reads', 'failures'])

function rowHtml({ entry, name, lists, loads, reads, failures, last }: UseRow, { up }: PageView): Html {
  return html`<tr>
    <th scope="row"><a href="${up}${skillAddress(entry)}">${isolateText(name)}</a></th>
    <td class="right">${lists}</td>
    <td class="right">${loads}</td>
    <td class="right">${reads}</td>
    <td class="right">${failures}</td>
    <td>${last ?? ''}</td>
  </tr>`
}

function unusedOf(rows: readonly UseRow[], { up }: PageView): Html {
  const shown = rows.slice(0, SHOWN_SKILLS)
  return html`<p>${countOf(rows.length, 'listed skill')} without a load or a read in this time.</p>
    <ul>
      ${shown.map(({ entry, name }) => html`<li><a href="${up}${skillAddress(entry)}">${isolateText(name)}</a></li>`)}
    </ul>
    ${moreThan(shown.length, rows.length)}`
}

function moreThan(shown: number, all: number): Html {
  if (all === shown) return EMPTY_HTML
  return html`<p class="quiet small">${all - shown} more: <code>skillsyncd list --usage</code> shows all.</p>`
}

/** A table of all skills of a large hub would be megabytes. */
const SHOWN_SKILLS = 500

function sinceText({ since, from }: PageUses): string {
  if (since === null) return 'No day was counted yet.'
  return since > from ? `Counting began on ${since}.` : ''
}
