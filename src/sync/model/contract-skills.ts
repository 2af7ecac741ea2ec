import type { Catalog, CatalogSkill } from './catalog.ts'
import type { Contract } from './contract.ts'
import { comparePaths } from './digest.ts'

/** A skill that keeps the contract, and what it says of itself. */
export interface ContractSkill {
  readonly skill: CatalogSkill
  readonly contract: Contract
}

/** The skills of a catalog that keep the contract, by their ids. */
export interface ContractSkills {
  /** Those whose id is theirs alone, in the order of the ids; those in no list included. */
  readonly byId: ReadonlyMap<string, ContractSkill>
  /** The skills that share an id, each by its URI: none of them has it. */
  readonly clashes: ReadonlyMap<string, readonly string[]>
}

/** An id that two skills have leads to neither: whoever used it would get the other one some day. */
export function contractSkills({ skills }: Pick<Catalog, 'skills'>): ContractSkills {
  const sharing = new Map<string, ContractSkill[]>()
  for (const skill of skills.values()) {
    const { contract } = skill.skill
    if (contract === undefined) continue
    const others = sharing.get(contract.id)
    if (others === undefined) sharing.set(contract.id, [{ skill, contract }])
    else others.push({ skill, contract })
  }
  const inOrder = [...sharing].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    byId: new Map(inOrder.flatMap(([id, [first, ...others]]) => (first && others.length === 0 ? [[id, first]] : []))),
    clashes: new Map(
      inOrder
        .filter(([, skillsOfId]) => skillsOfId.length > 1)
        .map(([id, skillsOfId]) => [id, skillsOfId.map(({ skill }) => skill.uri).toSorted(comparePaths)]),
    ),
  }
}
