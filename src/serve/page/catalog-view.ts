import { fewText } from '../../base/text/first-few.ts'
import { countOf } from '../../base/text/plural.ts'
import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { pathIdOf } from '../../sync/catalog/tool-catalog.ts'
import { isProgram } from '../../sync/model/changes/skill-notes.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { lifecycleOf } from '../../sync/skill/lifecycle.ts'
import { contentMoment, pager } from './format.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { ContentMoment } from './page-data.ts'
import { momentLookup } from './page-view.ts'
import type { PageView } from './page-view.ts'
import { queryOf, searchPage } from './search.ts'
import type { SearchPage, Query } from './search.ts'
import { copyLink, placeText, placesIn } from './skill-copies.ts'
import { emptyReasons } from './sources-view.ts'
import { tagsIn } from './tags.ts'
import { skillAddress } from './urls.ts'

/** Renders the served skills, or the results of a search. */
export async function catalogView(view: PageView, name: string): Promise<PageBody> {
  const { catalog, params, up } = view
  const query = queryOf(params)
  const searching = query.text.trim() === '' ? undefined : view.search?.(query.text)
  const [momentOf, uses, result] = await Promise.all([momentLookup(view), useCounter(view), searching])
  const packsOf = packsIn(catalog, view.packs)
  const found = searchPage(catalog, query, {
    hits: result?.kind === 'found' ? result.skills : undefined,
    changedMs: (skill) => Date.parse(momentOf(skill)?.at ?? '') || 0,
    usesOf: (skill) => uses?.(skill) ?? 0,
    isInPack: ({ skill }) => query.pack === '' || packsOf(skill).includes(query.pack),
  })
  const factsOf = (entry: CatalogSkill): Html => rowFacts(entry, { moment: momentOf(entry), uses, packsOf }, view)
  return {
    title: name,
    place: 'skills',
    query: query.text,
    content: html`${filters(view, query, uses !== undefined)}
      <div id="found" data-live>
        <p id="count" class="quiet small">${countText(found, query, view)}</p>
        ${result === undefined || result.kind === 'found' ? EMPTY_HTML : EXACT_ONLY}
        ${
          found.skills.length === 0
            ? nothingFound(view, query)
            : html`<ul class="list">
                ${found.skills.map((entry) => itemOf(entry, factsOf(entry), view))}
              </ul>`
        }
        ${pager(found.page, found.pages, (page) => `${up}?${addressOf({ ...query, page })}`)}
      </div>`,
  }
}

/** Returns the number of uses of a skill at all of its places in the last days, for readers who may know it. */
async function useCounter({
  catalog,
  host,
  isAdmitted,
}: PageView): Promise<((skill: CatalogSkill) => number) | undefined> {
  const counted = isAdmitted ? await host.uses?.() : undefined
  if (counted === undefined) return undefined
  const usesAt = (place: CatalogSkill): number => {
    const { loads, reads } = counted.skills.get(pathIdOf(place)) ?? { loads: 0, reads: 0 }
    return loads + reads
  }
  return (skill) =>
    placesIn(catalog)
      .of(skill)
      .reduce((sum, place) => sum + usesAt(place), 0)
}

type PacksOf = (skill: Skill) => readonly string[]

/** Returns the packs of a skill, found once for a catalog and its packs. */
function packsIn(catalog: Catalog, packs: readonly Pack[]): PacksOf {
  const known = PACKS.get(catalog)
  if (known?.packs.length === packs.length && packs.every((pack, at) => pack === known.packs[at])) return known.of
  const ids = new Map<Skill, string[]>()
  for (const pack of packs)
    for (const skill of catalog.snapshots.flatMap((snapshot) => [...packedIn(snapshot, pack)]))
      ids.set(skill, [...(ids.get(skill) ?? []), pack.id])
  const of: PacksOf = (skill) => ids.get(skill) ?? []
  PACKS.set(catalog, { packs, of })
  return of
}

const PACKS = new WeakMap<Catalog, { readonly packs: readonly Pack[]; readonly of: PacksOf }>()

const EXACT_ONLY = html`<p class="quiet small">The search index is not ready. These skills contain every word.</p>`

/** The filters and the order of the list, which belong to the form of the search. */
function filters(view: PageView, { text, source, pack, tag, sort }: Query, isCounted: boolean): Html {
  const orders = [
    ['', text.trim() === '' ? 'Name' : 'Best match'],
    ...(text.trim() === '' ? [] : [['name', 'Name'] as const]),
    ...(isCounted ? [['uses', 'Most used'] as const] : []),
    ['changed', 'Last change'],
  ] as const
  return html`<div class="filters">
    ${choice(
      'source',
      'Source',
      'All sources',
      sourcesIn(view).map((id) => [id, id] as const),
      source,
    )}
    ${
      view.packs.length === 0
        ? EMPTY_HTML
        : choice(
            'pack',
            'Pack',
            'All packs',
            view.packs.map(({ id }) => [id, id] as const),
            pack,
          )
    }
    ${tagChoice(view, tag)}
    <label for="sort">Sort by</label>
    <select id="sort" name="sort" form="find" data-live>
      ${orders.map(([value, words]) => optionOf(value, words, value === sort))}
    </select>
  </div>`
}

function choice(
  id: string,
  label: string,
  all: string,
  options: readonly (readonly [string, string])[],
  chosen: string,
): Html {
  return html`<label for="${id}" class="heard">${label}</label>
    <select id="${id}" name="${id}" form="find">
      <option value="">${all}</option>
      ${options.map(([value, text]) => optionOf(value, text, value === chosen))}
    </select>`
}

/** The choice of a tag, where a listed skill has one. A chosen tag is a choice even if it is rarer than those offered. */
function tagChoice({ catalog }: PageView, chosen: string): Html {
  const tags = tagsIn(catalog)
  if (tags.offered.length === 0) return EMPTY_HTML
  const isRarer = tags.count(chosen) > 0 && !tags.offered.some(({ tag }) => tag === chosen)
  const choices = isRarer ? [{ tag: chosen, skills: tags.count(chosen) }, ...tags.offered] : tags.offered
  return choice(
    'tag',
    'Tag',
    'All tags',
    choices.map(({ tag, skills }) => [tag, `${tag} (${skills})`]),
    chosen,
  )
}

function optionOf(value: string, text: string, isSelected: boolean): Html {
  return html`<option value="${value}" ${isSelected ? html` selected` : EMPTY_HTML}>${text}</option>`
}

/** The sources of the filter. A reader of everything also sees failing sources. */
function sourcesIn({ catalog, isWhole, host }: PageView): readonly SourceId[] {
  return isWhole ? host.sources().map(({ id }) => id) : catalog.snapshots.map(({ source }) => source)
}

function countText(found: SearchPage, { text, source, pack, tag }: Query, { catalog }: PageView): string {
  const { total, places } = found
  const copies = places > total ? ` (${countOf(places - total, 'duplicate')})` : ''
  const isAll = text === '' && source === '' && pack === '' && tag === ''
  const of = isAll ? '' : `, of ${placesIn(catalog).skills}`
  return `${countOf(total, 'skill')}${copies}${of}`
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

interface RowGround {
  readonly moment: ContentMoment | undefined
  readonly uses: ((skill: CatalogSkill) => number) | undefined
  readonly packsOf: PacksOf
}

function itemOf(entry: CatalogSkill, facts: Html, { catalog, up }: PageView): Html {
  const { name, description } = entry
  return html`<li>
    <h2><a href="${up}${skillAddress(entry)}">${isolateText(name)}</a></h2>
    <p class="clamp">${isolateText(description)}</p>
    <div class="facts">${facts}</div>
    ${placesOf(entry, catalog, up)}
  </li>`
}

/** The facts in which skills differ. A skill that came with its source did not change since. */
function rowFacts(entry: CatalogSkill, { moment, uses, packsOf }: RowGround, { catalog, host }: PageView): Html {
  const { skill, source, signers } = entry
  const isNews = moment !== undefined && moment.change !== 'unknown' && moment.isFirst !== true
  const used = uses?.(entry) ?? 0
  const packs = packsOf(skill)
  const programs = skill.files.filter((file) => isProgram(file, skill)).length
  return html`<span>${isNameShared(entry, catalog) ? isolateText(placeText(entry)) : source}</span>
    ${isNews ? html`<span>${contentMoment(moment, host.now())}</span>` : EMPTY_HTML}
    ${used === 0 ? EMPTY_HTML : html`<span>${countOf(used, 'use')} in 30 days</span>`}
    ${programs === 0 ? EMPTY_HTML : html`<span>${countOf(programs, 'program')}</span>`}
    ${signers === undefined ? EMPTY_HTML : html`<span class="good">signed</span>`}
    ${packs.length === 0 ? EMPTY_HTML : html`<span>${packs.length === 1 ? 'pack' : 'packs'} ${fewText(packs, 3, String)}</span>`}
    ${lifecycleOf(skill).deprecated === undefined ? EMPTY_HTML : html`<span class="warn">deprecated</span>`}
    ${skill.kept === undefined ? EMPTY_HTML : html`<span class="warn">earlier version</span>`}
    ${skill.findings.length === 0 ? EMPTY_HTML : html`<span class="warn">${countOf(skill.findings.length, 'note')}</span>`}`
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

/** Links to the other places of a skill with several places. */
function placesOf(entry: CatalogSkill, catalog: Catalog, up: string): Html {
  const places = placesIn(catalog).of(entry)
  if (places.length < 2) return EMPTY_HTML
  const others = places.filter((place) => place !== entry)
  const left = others.length - MOST_PLACES
  const links = others.slice(0, MOST_PLACES).map((place) => html`<span>${copyLink(place, up)}</span> `)
  return html`<div class="facts">
    <span>Also in</span>
    ${links}${left > 0 ? html`<a href="${up}${skillAddress(entry)}#places">${left} more</a>` : EMPTY_HTML}
  </div>`
}

const MOST_PLACES = 4

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
