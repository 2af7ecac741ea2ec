import { comparePaths } from '../model/digest.ts'
import type { Contract } from '../skill/contract/contract.ts'
import type { CatalogSkill } from './catalog-file.ts'
import type { Catalog } from './catalog.ts'

/** A skill that keeps the contract, with the contract that it declares. */
export interface ContractSkill {
  readonly skill: CatalogSkill
  readonly contract: Contract
}

/** The skills of a catalog that keep the contract, by their ids. */
export interface ContractSkills {
  /** The skills whose id is unique, in the order of the ids, including those in no list. */
  readonly byId: ReadonlyMap<string, ContractSkill>
  /** The URIs of the listed skills that share an id, by that id: none of them gets it. */
  readonly clashes: ReadonlyMap<string, readonly string[]>
}

/**
 * An id that two skills have leads to neither: a client that uses it could get the other skill later. An unlisted skill
 * takes no id from a listed one, and nothing reveals it. A skill of a source that only offers the contract takes none
 * from one of a source that requires it.
 */
export function contractSkills({ skills }: Pick<Catalog, 'skills'>): ContractSkills {
  const all: ContractSkill[] = []
  for (const skill of skills.values()) {
    const { contract } = skill.skill
    if (contract !== undefined) all.push({ skill, contract })
  }
  const byId = new Map<string, ContractSkill>()
  const clashes = new Map<string, readonly string[]>()
  for (const [id, claiming] of [...Map.groupBy(all, ({ contract }) => contract.id)].toSorted(inOrderOfIds)) {
    const required = claiming.filter(({ contract }) => contract.isOffered !== true)
    const sharing = required.length > 0 ? required : claiming
    const listed = sharing.filter(({ skill }) => skill.skill.standing === 'served')
    const [first, ...others] = listed.length > 0 ? listed : sharing
    if (first !== undefined && others.length === 0) byId.set(id, first)
    if (listed.length > 1) clashes.set(id, listed.map(({ skill }) => skill.uri).toSorted(comparePaths))
  }
  return { byId, clashes }
}

function inOrderOfIds([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
