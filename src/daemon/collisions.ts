import type { CatalogSkill } from '../sync/model/catalog-entry.ts'
import type { Catalog } from '../sync/model/catalog.ts'

/** A name that skills of several sources have. None of them hides another. */
export interface Collision {
  readonly name: string
  /** How many skills have it, and the URIs of the first of them. */
  readonly count: number
  readonly uris: readonly string[]
}

/** The names that skills of different sources share, in the order in which they are listed first. */
export function collisionsIn({ listed }: Catalog): { readonly count: number; readonly names: readonly Collision[] } {
  const shared = [...Map.groupBy(listed, ({ name }) => name)].filter(([, skills]) => areApart(skills))
  return {
    count: shared.length,
    names: shared.slice(0, MOST_NAMES).map(([name, skills]) => {
      return { name, count: skills.length, uris: skills.slice(0, MOST_URIS).map(({ uri }) => uri) }
    }),
  }
}

function areApart([first, ...others]: readonly CatalogSkill[]): boolean {
  return others.some(({ source }) => source !== first?.source)
}

/** A status fits into a line of the socket, however long the URIs are. */
const MOST_NAMES = 20
const MOST_URIS = 3
