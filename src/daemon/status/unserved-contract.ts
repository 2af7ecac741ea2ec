import { countOf } from '../../base/text/plural.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Source } from '../../sync/model/source.ts'
import { CONTRACT_KEY } from '../../sync/skill-md/contract/contract.ts'

/**
 * True for a skill that has the contract block although its source does not use the contract, so that the block is not
 * served.
 */
export function isContractUnserved({ contract }: Source, { frontmatter }: Skill): boolean {
  return !contract && frontmatter !== undefined && Object.hasOwn(frontmatter, CONTRACT_KEY)
}

const MEND =
  'contract: true on the source serves it at resource://, and holds every skill to the contract; so does --form contract'

/** The hint for one skill. */
export const UNSERVED_CONTRACT = `it has an ${CONTRACT_KEY} block: ${MEND}`

/** The hint for several skills of one source. */
export function unservedContractsText(count: number): string {
  const have = count === 1 ? 'has' : 'have'
  return `${countOf(count, 'skill')} ${have} an ${CONTRACT_KEY} block that nothing serves: ${MEND}`
}
