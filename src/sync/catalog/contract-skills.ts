import type { CatalogSkill } from './catalog-entry.ts'
import type { Catalog } from './catalog.ts'
import type { Contract } from '../skill-md/contract/contract.ts'
import { comparePaths } from '../model/digest.ts'

/** A skill that keeps the contract, and what it says of itself. */
export interface ContractSkill {
  readonly skill: CatalogSkill
  readonly contract: Contract
}

/** The skills of a catalog that keep the contract, by their ids. */
export interface ContractSkills {
  /** Those whose id is theirs alone, in the order of the ids; those in no list included. */
  readonly byId: ReadonlyMap<string, ContractSkill>
  /** The skills of the lists that share an id, each by its URI: none of them has it. */
  readonly clashes: ReadonlyMap<string, readonly string[]>
}

/**
 * An id that two skills have leads to neither: whoever used it would get the other one some day. One that is in no list takes
 * no id from one that is, and nothing tells of it.
 */
export function contractSkills({ skills }: Pick<Catalog, 'skills'>): ContractSkills {
  const all = [...skills.values()].flatMap((skill): ContractSkill[] => {
    const { contract } = skill.skill
    return contract === undefined ? [] : [{ skill, contract }]
  })
  const byId = new Map<string, ContractSkill>()
  const clashes = new Map<string, readonly string[]>()
  for (const [id, sharing] of [...Map.groupBy(all, ({ contract }) => contract.id)].toSorted(inOrderOfIds)) {
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
