import { countOf } from '../../base/text/plural.ts'
import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { lifecycleOf } from '../../sync/skill/lifecycle.ts'
import { contentMoment, refText, shortCommit, sizeText } from './format.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { ContentMoment } from './page-data.ts'
import { commitWordsFor, momentLookup } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { queryOf, searchPage } from './search.ts'
import type { SearchPage, Query } from './search.ts'
import { copyLink, placeText, placesIn } from './skill-copies.ts'
import { emptyReasons } from './source-trouble.ts'
import { tagsIn } from './tags.ts'
import { skillAddress } from './urls.ts'

/** Renders the served skills, or the results of a search. */
export async function catalogView(view: PageView, name: string): Promise<PageBody> {
  const { catalog, params, up } = view
  const query = queryOf(params)
  const searching = query.text.trim() === '' ? undefined : view.search?.(query.text)
  const [momentOf, result] = await Promise.all([momentLookup(view), searching])
  const found = searchPage(catalog, query, {
    hits: result?.kind === 'found' ? result.skills : undefined,
    changedMs: (skill) => Date.parse(momentOf(skill)?.at ?? '') || 0,
    isInPack: packTest(query.pack, view),
  })
  return {
    title: name,
    place: 'skills',
    content: html`<h1>${isolateText(name)}</h1>
      <p class="lead">
        Every skill is pinned to a commit and has a digest. Clients connect to <code>${view.address}/mcp</code>;
        <a href="${up}connect">here is how</a>. What agents list of them is their
        <a href="${up}budget">context budget</a>${useLink(view)}.
      </p>
      ${findForm(view, query)}
      <div id="found" data-live>
        <p id="count" class="quiet small">${countText(found, query, view)}</p>
        ${result === undefined || result.kind === 'found' ? EMPTY_HTML : EXACT_ONLY}
        ${found.skills.length === 0 ? nothingFound(view, query) : listOf(found.skills, momentOf, view)}
        ${pagesOf(found, query, up)}
      </div>`,
  }
}

function useLink({ host, isAdmitted, up }: PageView): Html {
  if (!isAdmitted || host.uses === undefined) return EMPTY_HTML
  return html`, and here is their <a href="${up}usage">use by clients</a>`
}

const EXACT_ONLY = html`<p class="quiet small">The search index is not ready. These skills contain every word.</p>`

/** Returns the test for the skills of a pack, or for all without one. A pack that does not exist has none. */
function packTest(id: string, { catalog, packs }: PageView): (skill: CatalogSkill) => boolean {
  if (id === '') return () => true
  const pack = packs.find((one) => one.id === id)
  if (pack === undefined) return () => false
  const held = new Set(catalog.snapshots.flatMap((snapshot) => [...packedIn(snapshot, pack)]))
  return ({ skill }) => held.has(skill)
}

const SORTS = [
  ['', 'Best match'],
  ['name', 'Name'],
  ['changed', 'Last change'],
] as const

function findForm(view: PageView, { text, source, pack, tag, sort }: Query): Html {
  const { packs, up } = view
  const options = sourcesIn(view).map((id) => optionOf(id, id, id === source))
  return html`<form class="find rows" role="search" action="${up}" method="get">
    <div>
      <label for="q">Search by name, path or description</label>
      <input id="q" type="search" name="q" value="${text}" maxlength="200" autocomplete="off" spellcheck="false" />
    </div>
    <div>
      <label for="source">Source</label>
      <select id="source" name="source">
        <option value="">All sources</option>
        ${options}
      </select>
    </div>
    ${
      packs.length === 0
        ? EMPTY_HTML
        : html`<div>
            <label for="pack">Pack</label>
            <select id="pack" name="pack">
              <option value="">All packs</option>
              ${packs.map(({ id }) => optionOf(id, id, id === pack))}
            </select>
          </div>`
    }
    ${tagChoice(view, tag)}
    <div>
      <label for="sort">Sort by</label>
      <select id="sort" name="sort">
        ${SORTS.map(([value, words]) => optionOf(value, words, value === sort || (value === '' && sort === 'match')))}
      </select>
    </div>
    <button>Search</button>
  </form>`
}

/** The choice of a tag, where a listed skill has one. A chosen tag is a choice even if it is rarer than those offered. */
function tagChoice({ catalog }: PageView, chosen: string): Html {
  const tags = tagsIn(catalog)
  if (tags.offered.length === 0) return EMPTY_HTML
  const isRarer = tags.count(chosen) > 0 && !tags.offered.some(({ tag }) => tag === chosen)
  const choices = isRarer ? [{ tag: chosen, skills: tags.count(chosen) }, ...tags.offered] : tags.offered
  return html`<div>
    <label for="tag">Tag</label>
    <select id="tag" name="tag">
      <option value="">All tags</option>
      ${choices.map(({ tag, skills }) => optionOf(tag, `${tag} (${skills})`, tag === chosen))}
    </select>
  </div>`
}

function optionOf(value: string, text: string, isSelected: boolean): Html {
  return html`<option value="${value}" ${isSelected ? html` selected` : EMPTY_HTML}>${text}</option>`
}

/** The sources of the filter. A reader of everything also sees failing sources. */
function sourcesIn({ catalog, isWhole, host }: PageView): readonly SourceId[] {
  return isWhole ? host.sources().map(({ id }) => id) : catalog.snapshots.map(({ source }) => source)
}

function countText(found: SearchPage, { text, source, pack, tag }: Query, { catalog }: PageView): string {
  const { total, places, page, pages } = found
  const where = places > total ? ` in ${countOf(places, 'place')}` : ''
  const isAll = text === '' && source === '' && pack === '' && tag === ''
  const of = isAll ? ` of ${countOf(catalog.snapshots.length, 'source')}` : `, of ${placesIn(catalog).skills}`
  return `${countOf(total, 'skill')}${where}${of}${pages > 1 ? `, page ${page} of ${pages}` : ''}`
}

function nothingFound(view: PageView, { text, source, pack, tag }: Query): Html {
  const { catalog, isWhole, up } = view
  if (source !== '' && !catalog.listed.some((skill) => skill.source === source)) return nothingOf(source, view)
  if (catalog.listed.length === 0) return isWhole ? emptyReasons(view) : html`<p>No skill is served to you yet.</p>`
  const of = source === '' ? EMPTY_HTML : html` of ${isolateText(source)}`
  const tagged = tag === '' ? EMPTY_HTML : html` with the tag ${isolateText(tag)}`
  const all = html`<a href="${up}">Show all</a>`
  if (pack !== '' && text === '') return html`<p>No skill of this pack${tagged} is in the list. ${all}</p>`
  if (tag !== '' && text === '') return html`<p>No skill${of}${tagged} is in the list. ${all}</p>`
  return html`<p>No skill${of}${tagged} has all of these words: ${isolateText(text)}. ${all}</p>`
}

function nothingOf(source: string, view: PageView): Html {
  const { isWhole, up } = view
  const all = html`<a href="${up}">Show all</a>`
  if (!sourcesIn(view).some((id) => id === source))
    return html`<p>There is no source ${isolateText(source)}. ${all}</p>`
  const why = isWhole ? html`<a href="${up}problems?source=${source}">Its problems</a> say why. ` : EMPTY_HTML
  return html`<p>No skill of ${isolateText(source)} is in the list. ${why}${all}</p>`
}

type MomentOf = Awaited<ReturnType<typeof momentLookup>>

function listOf(skills: readonly CatalogSkill[], momentOf: MomentOf, view: PageView): Html {
  const { catalog } = view
  const snapshots = new Map(catalog.snapshots.map((snapshot) => [snapshot.source, snapshot]))
  return html`<ul class="list">
    ${skills.map((skill) => itemOf(skill, { snapshot: snapshots.get(skill.source), moment: momentOf(skill) }, view))}
  </ul>`
}

interface ItemFacts {
  readonly snapshot: Snapshot | undefined
  readonly moment: ContentMoment | undefined
}

function itemOf(entry: CatalogSkill, { snapshot, moment }: ItemFacts, view: PageView): Html {
  const { catalog, host, up } = view
  const { name, description, source, skill } = entry
  return html`<li>
    <h2><a href="${up}${skillAddress(entry)}">${isolateText(name)}</a></h2>
    <p class="clamp">${isolateText(description)}</p>
    <div class="facts">
      <span>${isNameShared(entry, catalog) ? isolateText(placeText(entry)) : source}</span>
      ${moment === undefined ? EMPTY_HTML : html`<span>${contentMoment(moment, host.now())}</span>`}
      ${snapshot === undefined ? EMPTY_HTML : html`<span>${commitText(snapshot, view)}</span>`}
      <span>${countOf(skill.files.length, 'file')}, ${sizeText(skill.size)}</span>
      ${lifecycleOf(skill).deprecated === undefined ? EMPTY_HTML : html`<span class="warn">deprecated</span>`}
      ${skill.kept === undefined ? EMPTY_HTML : html`<span class="warn">earlier version</span>`}
      ${skill.findings.length === 0 ? EMPTY_HTML : html`<span class="warn">${countOf(skill.findings.length, 'note')}</span>`}
    </div>
    ${placesOf(entry, catalog, up)}
  </li>`
}

/** True if listed skills with other content have this name: only the path tells them apart. */
function isNameShared({ name }: CatalogSkill, catalog: Catalog): boolean {
  return (namesIn(catalog).get(name) ?? 0) > 1
}

/** Returns the number of skills with each name, copies counted once. */
function namesIn(catalog: Catalog): ReadonlyMap<string, number> {
  const known = NAMES.get(catalog)
  if (known !== undefined) return known
  const names = new Map<string, number>()
  const places = placesIn(catalog)
  const firsts = catalog.listed.filter((entry) => places.of(entry)[0] === entry)
  for (const { name } of firsts) names.set(name, (names.get(name) ?? 0) + 1)
  NAMES.set(catalog, names)
  return names
}

const NAMES = new WeakMap<Catalog, ReadonlyMap<string, number>>()

function commitText(snapshot: Snapshot, view: PageView): Html {
  const { ref, commit } = snapshot.revision
  const author = commitWordsFor(snapshot, view)?.author ?? ''
  const by = author === '' ? EMPTY_HTML : html` by ${isolateText(author)}`
  return html`${isolateText(refText(ref))} at ${shortCommit(commit)}${by}`
}

/** Links to the other places of a skill with several places. */
function placesOf(entry: CatalogSkill, catalog: Catalog, up: string): Html {
  const places = placesIn(catalog).of(entry)
  if (places.length < 2) return EMPTY_HTML
  const others = places.filter((place) => place !== entry)
  const left = others.length - MOST_PLACES
  const links = others.slice(0, MOST_PLACES).map((place) => html`<span>${copyLink(place, up)}</span> `)
  return html`<div class="facts">
    <span>In ${places.length} places, also</span>
    ${links}${left > 0 ? html`<a href="${up}${skillAddress(entry)}#places">${left} more</a>` : EMPTY_HTML}
  </div>`
}

const MOST_PLACES = 4

function pagesOf({ page, pages }: SearchPage, query: Query, up: string): Html {
  if (pages === 1) return EMPTY_HTML
  const to = (number: number, text: string, rel: string): Html =>
    number < 1 || number > pages
      ? html`<span></span>`
      : html`<a href="${up}?${addressOf({ ...query, page: number })}" rel="${rel}">${text}</a>`
  return html`<nav class="pages" aria-label="Pages">
    ${to(page - 1, '← Previous', 'prev')} ${to(page + 1, 'Next →', 'next')}
  </nav>`
}

function addressOf({ text, source, pack, tag, sort, page }: Query): string {
  return new URLSearchParams({
    ...(text !== '' && { q: text }),
    ...(source !== '' && { source }),
    ...(pack !== '' && { pack }),
    ...(tag !== '' && { tag }),
    ...(sort !== 'match' && { sort }),
    page: String(page),
  }).toString()
}
