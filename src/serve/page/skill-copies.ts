import type { CatalogSkill } from '../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { contentKeyOf } from '../../sync/model/skill.ts'
import { skillAddress } from './urls.ts'
import { html, said } from './html.ts'
import type { Html } from './html.ts'

/** The places of a catalog's listed skills: with one name and one content they are one skill. */
export interface Places {
  /** The number of skills, each content of a name once. */
  readonly skills: number
  /** The listed copies of this very skill, itself among them, in the order of the list. */
  of(skill: CatalogSkill): readonly CatalogSkill[]
}

/** Made once for each catalog. */
export function placesIn(catalog: Catalog): Places {
  const known = KNOWN.get(catalog)
  if (known !== undefined) return known
  const keyOf = ({ skill }: CatalogSkill): string => contentKeyOf(skill)
  const groups = Map.groupBy(catalog.listed, keyOf)
  const places: Places = { skills: groups.size, of: (skill) => groups.get(keyOf(skill)) ?? [] }
  KNOWN.set(catalog, places)
  return places
}

const KNOWN = new WeakMap<Catalog, Places>()

/** The way to the page of a place, called by its source and its folder. */
export function placeLink(place: CatalogSkill, up: string): Html {
  const { source, skill } = place
  return html`<a href="${up}${skillAddress(place)}">${said(skill.path === '' ? source : `${source}/${skill.path}`)}</a>`
}
