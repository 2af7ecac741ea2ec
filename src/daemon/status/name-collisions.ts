import type { CatalogSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { contentKeyOf } from '../../sync/model/skill.ts'

/** A name that skills of several sources share. None of them hides another. */
export interface Collision {
  readonly name: string
  /** The number of skills with the name, and the URIs of the first of them. */
  readonly count: number
  readonly uris: readonly string[]
}

/**
 * The names that skills of different sources share, in listing order. `about`: only names of which one of these sources
 * has a skill. Copies of one skill count as one, and are no collision.
 */
export function collisionsIn({ listed }: Catalog, about?: ReadonlySet<string>): Collisions {
  const isMeant = (skills: readonly CatalogSkill[]): boolean =>
    about === undefined || skills.some(({ source }) => about.has(source))
  const shared = [...Map.groupBy(listed, ({ name }) => name)].filter(
    ([, skills]) => areApart(skills) && isMeant(skills),
  )
  return {
    count: shared.length,
    names: shared.slice(0, MOST_NAMES).map(([name, skills]) => {
      return { name, count: skills.length, uris: skills.slice(0, MOST_URIS).map(({ uri }) => uri) }
    }),
  }
}

/** The number of shared names, and the first of them. */
export interface Collisions {
  readonly count: number
  readonly names: readonly Collision[]
}

function areApart([first, ...others]: readonly CatalogSkill[]): boolean {
  if (first === undefined || !others.some(({ source }) => source !== first.source)) return false
  const content = contentKeyOf(first.skill)
  return others.some(({ skill }) => contentKeyOf(skill) !== content)
}

/** A status must fit into one line of the socket, however long the URIs are. */
const MOST_NAMES = 20
const MOST_URIS = 3
