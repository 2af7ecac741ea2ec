import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { contentKeyOf } from '../../sync/model/skill.ts'
import { html, isolateText } from './html.ts'
import type { Html } from './html.ts'
import { skillAddress } from './urls.ts'

/** The places of a catalog's listed skills: entries with equal name and content are one skill. */
export interface SkillCopies {
  /** The number of skills with distinct name and content. */
  readonly skills: number
  /** Returns the listed copies of a skill, itself included if it is listed, in the order of the list. */
  of(skill: Pick<CatalogSkill, 'skill'>): readonly CatalogSkill[]
}

/** Returns the places of a catalog, computed once. */
export function placesIn(catalog: Catalog): SkillCopies {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const keyOf = ({ skill }: Pick<CatalogSkill, 'skill'>): string => contentKeyOf(skill)
  const groups = Map.groupBy(catalog.listed, keyOf)
  const places: SkillCopies = { skills: groups.size, of: (skill) => groups.get(keyOf(skill)) ?? [] }
  KNOWN.set(catalog, places)
  return places
}

const KNOWN = new WeakMap<Catalog, SkillCopies>()

/** Links to the page of a place, labeled by its source and folder. */
export function copyLink(place: CatalogSkill, up: string): Html {
  return html`<a href="${up}${skillAddress(place)}">${isolateText(placeText(place))}</a>`
}

/** Returns the source and the folder of a skill. */
export function placeText({ source, skill }: CatalogSkill): string {
  return skill.path === '' ? source : `${source}/${skill.path}`
}
