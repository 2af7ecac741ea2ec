import { countOf } from '../../base/text/plural.ts'
import { changeWord, nameText } from '../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup, ChangeKind, NamedChange } from '../../sync/model/changes/skill-changes.ts'
import type { DocsReview, FileReview, SkillReview } from '../../sync/model/changes/skill-review.ts'
import { minute, shortCommit } from './format.ts'
import { html, EMPTY_HTML, isolateText, visible } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { PageDecision, PageGeneration, PageMove, SourceChange } from './page-data.ts'
import { messageOf } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { skillAddress } from './urls.ts'

/** Renders the stored generations, or the changes between two of them. */
export async function changesView(view: PageView): Promise<PageBody> {
  const { from, to } = numbersIn(view.params)
  return from === undefined || to === undefined ? historyView(view) : comparisonView(from, to, view)
}

function numbersIn(params: URLSearchParams): { readonly from?: number; readonly to?: number } {
  const [from, to] = ['from', 'to'].map((name) => /^\d{1,9}$/.exec(params.get(name) ?? '')?.[0])
  return { ...(from !== undefined && { from: Number(from) }), ...(to !== undefined && { to: Number(to) }) }
}

async function historyView(view: PageView): Promise<PageBody> {
  const moments = await view.host.history()
  if (moments === undefined) return UNREADABLE
  const intro = html`<h1>Changes</h1>
    <p class="quiet">
      Each change of the served skills is a new generation. <a href="${view.up}changes.atom">Feed (Atom)</a>
    </p>`
  const content = html`${intro}
    <div id="changes" data-live>
      ${moments.length === 0 ? NOTHING_SERVED : EMPTY_HTML}
      <ol class="list">
        ${historyItems(moments, view)}
      </ol>
      ${moments[1] === undefined ? EMPTY_HTML : compareForm(moments[0]?.generation ?? 0, view.up)}
    </div>`
  const head = html`<link rel="alternate" type="application/atom+xml" title="Changes" href="${view.up}changes.atom" />`
  return { title: 'Changes', place: 'changes', content, head }
}

/** The answer while the generations cannot be read, of the feed too. */
export const UNREADABLE: PageBody = {
  status: 503,
  title: 'Changes',
  place: 'changes',
  content: html`<h1>Changes</h1>
    <p class="note">The generations cannot be read at the moment. Reload this page to try again.</p>`,
}

const NOTHING_SERVED = html`<p>Nothing has been served yet. The first pull that succeeds makes generation 1.</p>`

/** The generations, and between them the decisions, by their times. */
function historyItems(moments: readonly PageGeneration[], view: PageView): Html[] {
  const placeOf = ({ at }: PageDecision): number => {
    const index = moments.findIndex(({ createdAt }) => createdAt !== undefined && createdAt <= at)
    return index === -1 ? moments.length : index
  }
  const by = Map.groupBy(view.host.decisions(), placeOf)
  const decisionsAt = (index: number): Html[] => (by.get(index) ?? []).map((one) => decisionItem(one, view))
  const items = moments.flatMap((moment, index) => [...decisionsAt(index), momentItem(moment, view)])
  return [...items, ...decisionsAt(moments.length)]
}

export function decisionItem({ at, text }: PageDecision, view: PageView): Html {
  return html`<li>
    <span class="tag quiet">decision</span> <bdi>${messageOf(text, view)}</bdi>
    <span class="quiet small">${minute(at)}</span>
  </li>`
}

function compareForm(latest: number, up: string): Html {
  return html`<form class="filters" action="${up}changes" method="get" aria-label="Compare two generations">
    <label for="from">Compare generation</label>
    <input id="from" type="number" name="from" min="0" max="${latest}" value="${latest - 1}" required />
    <label for="to">with</label>
    <input id="to" type="number" name="to" min="1" max="${latest}" value="${latest}" required />
    <button>Compare</button>
  </form>`
}

function momentItem(moment: PageGeneration, { up }: PageView): Html {
  const { generation, createdAt, isServed, cause } = moment
  return html`<li>
    <h2>Generation ${generation} ${isServed ? html`<span class="tag good">served</span>` : EMPTY_HTML}</h2>
    <div class="facts">
      <span>${minute(createdAt)}</span><span>${cause}</span>
      ${comparedWith(moment, up)}
    </div>
    ${movesOf(moment)}
  </li>`
}

function comparedWith({ generation, before, moves = [] }: PageGeneration, up: string): Html {
  if (moves.length === 0) return EMPTY_HTML
  if (before === undefined) return html`<span>names alone</span>`
  const other = before === 0 ? 'nothing' : `generation ${before}`
  return html`<a href="${up}changes?from=${before}&to=${generation}">Compare with ${other}</a>`
}

/** Renders what a generation changed, with the names of skills. */
export function movesOf({ moves }: Pick<PageGeneration, 'moves'>): Html {
  if (moves === undefined) return html`<p class="quiet">The generation before it is no longer stored.</p>`
  const left = moves.length - MOST_MOVES
  return html`${moves.slice(0, MOST_MOVES).map((move) => html`<p>${moveText(move)}</p>`)}
  ${left > 0 ? html`<p class="quiet">and ${countOf(left, 'more source')}</p>` : EMPTY_HTML}`
}

const MOST_MOVES = 20

function moveText({ source, from, to, changes }: PageMove): Html {
  return html`<strong>${source}</strong>
    <span class="quiet small">${placeText(from)} → ${placeText(to)}</span>
    ${changes.length === 0 ? html`<span>no skill changed</span>` : EMPTY_HTML}
    <ul class="files">
      ${changes.map(groupItem)}
    </ul>`
}

function groupItem({ change, count, first }: ChangeGroup): Html {
  const more = count - first.length
  const rest = more === 0 ? '' : first.length === 0 ? countOf(more, 'skill') : ` and ${more} more`
  return html`<li>
    <span class="${TONES[change]}">${changeWord(change)}</span>
    ${first.map((one, index) => html`${index === 0 ? '' : ', '}${nameOf(one)}`)}${rest}
  </li>`
}

function nameOf({ path, was, reason }: NamedChange): Html {
  const why =
    reason === undefined ? EMPTY_HTML : html` <span class="quiet">(${reason.code}: ${visible(reason.message)})</span>`
  return html`${was === undefined ? EMPTY_HTML : html`${isolateText(nameText({ path: was }))} to `}${isolateText(nameText({ path }))}${why}`
}

function placeText(commit: string | undefined): Html {
  return commit === undefined ? html`nothing` : shortCommit(commit)
}

async function comparisonView(from: number, to: number, view: PageView): Promise<PageBody> {
  const sources = await view.host.compare(from, to)
  const title = `From generation ${from} to ${to}`
  const head = html`<p class="crumbs"><a href="${view.up}changes">Changes</a></p>
    <h1>${title}</h1>`
  if (sources === undefined) {
    const why = html`${head}
      <p class="note">One of the two is no longer stored, or the comparison takes too long.</p>`
    return { status: 404, title, place: 'changes', content: why }
  }
  const served = new Map(view.catalog.listed.map((skill) => [`${skill.source}/${skill.skill.path}`, skill]))
  const linkTo = (path: string): string | undefined => {
    const skill = served.get(path)
    return skill && view.up + skillAddress(skill)
  }
  return {
    title,
    place: 'changes',
    content: html`${head}${sources.length === 0 ? html`<p>No difference.</p>` : sources.map((source) => sourceSection(source, linkTo))}`,
  }
}

/** Returns the address of a served skill by source and path. */
type LinkTo = (path: string) => string | undefined

/** Renders the changes of one source. */
export function sourceSection({ source, from, to, skills, more }: SourceChange, linkTo: LinkTo): Html {
  return html`<section aria-label="Source ${source}">
    <h2>${source} <span class="quiet small">${placeText(from)} → ${placeText(to)}</span></h2>
    ${skills.length === 0 ? html`<p class="quiet">No listed skill differs.</p>` : EMPTY_HTML}
    <ul class="list">
      ${skills.map((skill, index) => itemOf(skill, linkTo(`${source}/${skill.path}`), `change-${source}-${index}`))}
    </ul>
    ${more === 0 ? EMPTY_HTML : html`<p class="quiet">${countOf(more, 'further skill')} ${more === 1 ? 'is' : 'are'} not shown here. skillsyncd diff shows all.</p>`}
  </section>`
}

/** `id`: an id of the heading, which names the changed lines. */
function itemOf(review: SkillReview, address: string | undefined, id: string): Html {
  const { path, name, change, from, reason, notes, files } = review
  const called = isolateText(name)
  const was =
    change === 'renamed' && from !== undefined
      ? html`<span class="quiet small">from ${isolateText(from.path === path ? from.name : nameText(from))}</span>`
      : EMPTY_HTML
  return html`<li>
    <h3 id="${id}">
      ${address === undefined ? called : html`<a href="${address}">${called}</a>`}
      <span class="tag ${TONES[change]}">${changeWord(change)}</span>
      <span class="quiet small">${isolateText(path)}</span> ${was}
    </h3>
    ${reason === undefined ? EMPTY_HTML : html`<p class="quiet">${reason.code}: ${visible(reason.message)}</p>`}
    ${filesOf(notes, files)}
  </li>`
}

/** Renders the changed docs folder of a source. */
export function docsSection({ change, notes, files }: DocsReview): Html {
  return html`<h3>The docs folder <span class="tag ${TONES[change]}">${change}</span></h3>
    ${files.length === 0 ? html`<p class="quiet">skillsyncd diff shows its files.</p>` : filesOf(notes, files)}`
}

function filesOf(notes: SkillReview['notes'], files: SkillReview['files']): Html {
  return html`${notes.length === 0 ? EMPTY_HTML : notesOf(notes)} ${files.slice(0, MOST_FILES).map(fileOf)}
  ${files.length > MOST_FILES ? html`<p class="quiet">and ${files.length - MOST_FILES} more files</p>` : EMPTY_HTML}`
}

const MOST_FILES = 50

function notesOf(notes: SkillReview['notes']): Html {
  return html`<ul class="files">
    ${notes.map(({ isCritical, text, values }) => html`<li class="${isCritical ? 'bad' : 'quiet'}">${text} ${values.map((value) => html`<q>${visible(value)}</q> `)}</li>`)}
  </ul>`
}

const TONES: Readonly<Record<ChangeKind, string>> = {
  added: 'good',
  changed: 'warn',
  renamed: 'warn',
  kept: 'warn',
  'no-longer-withheld': 'good',
  withheld: 'bad',
  removed: 'bad',
}

/** A file, its changed lines behind a fold. Those of SKILL.md and of programs are open. */
function fileOf({ path, change, isProgram, size, sha256, diff }: FileReview): Html {
  const what = change === 'mode' ? 'mode changed' : change
  const head = html`<span class="${TONES[change === 'mode' ? 'changed' : change]}">${what}</span>
    ${isProgram ? html`<strong class="bad">program</strong> ` : EMPTY_HTML}${isolateText(path)}`
  if (diff === undefined) return html`<p class="files">${head}</p>`
  if ('why' in diff)
    return html`<p class="files">
      ${head} <span class="quiet">${diff.why}; ${size} bytes, sha256 <code>${sha256}</code></span>
    </p>`
  return html`<details ${isProgram || path === 'SKILL.md' ? html` open` : EMPTY_HTML}>
    <summary>${head}</summary>
    <div class="diff" role="group" aria-label="Changed lines of ${path}" tabindex="0">
      ${diff.hunks.map(({ from, to, lines }) => html`<span class="at">line ${from} → line ${to}</span>${lines.map(lineOf)}`)}
    </div>
  </details>`
}

/** Marks a line with a sign, a color, and an element that screen readers announce. */
function lineOf(line: string): Html {
  const sign = line[0]
  const text = visible(line.slice(1))
  if (sign === '+') return html`<span class="plus"><ins>+ ${text}</ins></span>`
  if (sign === '-') return html`<span class="minus"><del>- ${text}</del></span>`
  return html`<span>${'  '}${text}</span>`
}
