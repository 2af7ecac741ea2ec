import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { tagsOf } from '../../sync/catalog/tags.ts'
import { comparePaths } from '../../sync/model/digest.ts'
import { hiddenIn } from '../../sync/skill/hidden-unicode.ts'
import { html, EMPTY_HTML, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { PageView } from './page-view.ts'
import { placesIn } from './skill-copies.ts'
import { tagAddress } from './urls.ts'

/** A tag, and the number of listed skills that have it. Copies of one skill are counted once. */
export interface TagCount {
  readonly tag: string
  readonly skills: number
}

/** The tags of a catalog's listed skills: of those alone that its reader may see. */
export interface CatalogTags {
  /** The tags that most skills have, in the order of their names, at most `MOST_OFFERED`. */
  readonly offered: readonly TagCount[]
  /** Returns the number of listed skills with the tag. */
  count(tag: string): number
  /** True for any tag of the skill, shown or not. */
  has(skill: CatalogSkill, tag: string): boolean
}

/** Returns the tags of a catalog, computed once. */
export function tagsIn(catalog: Catalog): CatalogTags {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const tags = new Map(catalog.listed.map((skill) => [skill, shownTags(skill)]))
  const counts = countsOf(catalog, tags)
  const found: CatalogTags = {
    offered: mostUsed(counts),
    count: (tag) => counts.get(tag) ?? 0,
    has: ({ frontmatter }, tag) => tagsOf(frontmatter).includes(tag),
  }
  KNOWN.set(catalog, found)
  return found
}

const KNOWN = new WeakMap<Catalog, CatalogTags>()

/** Renders the tags of a skill, each with a link to the skills of the list that have it. An unlisted skill may be alone. */
export function tagList(entry: CatalogSkill, { catalog, up }: Pick<PageView, 'catalog' | 'up'>): Html {
  const tags = shownTags(entry)
  if (tags.length === 0) return EMPTY_HTML
  const items = tags.map((tag) => {
    const isLink = tagsIn(catalog).count(tag) > 0
    return html`<li>${isLink ? html`<a href="${up}${tagAddress(tag)}">${isolateText(tag)}</a>` : isolateText(tag)}</li>`
  })
  return html`<ul class="tags" aria-label="Tags">
    ${items}
  </ul>`
}

/**
 * The tags of a skill that the page shows. A tag is another author's text in a filter for all skills: one that is long,
 * or has characters that no reader sees, is left out.
 */
function shownTags({ frontmatter }: Pick<CatalogSkill, 'frontmatter'>): readonly string[] {
  return tagsOf(frontmatter).filter(isShown).slice(0, MOST_OF_SKILL)
}

function isShown(tag: string): boolean {
  // A lone surrogate has no form in an address.
  return tag.length <= MOST_CHARACTERS && tag.isWellFormed() && !/\p{Cc}/u.test(tag) && hiddenIn(tag) === undefined
}

const MOST_OF_SKILL = 20
const MOST_CHARACTERS = 50
const MOST_OFFERED = 100

function countsOf(catalog: Catalog, tags: ReadonlyMap<CatalogSkill, readonly string[]>): ReadonlyMap<string, number> {
  const places = placesIn(catalog)
  const firsts = catalog.listed.filter((skill) => places.of(skill)[0] === skill)
  const counts = new Map<string, number>()
  for (const first of firsts) {
    const ofSkill = new Set(places.of(first).flatMap((place) => tags.get(place) ?? []))
    for (const tag of ofSkill) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  }
  return counts
}

function mostUsed(counts: ReadonlyMap<string, number>): readonly TagCount[] {
  return Array.from(counts, ([tag, skills]) => ({ tag, skills }))
    .toSorted((a, b) => b.skills - a.skills || comparePaths(a.tag, b.tag))
    .slice(0, MOST_OFFERED)
    .toSorted((a, b) => comparePaths(a.tag, b.tag))
}
