import { countOf } from '../../base/text/plural.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Source } from '../../sync/model/source.ts'
import { CONTRACT_KEY } from '../../sync/skill/contract/contract.ts'

/**
 * True for a skill that is served without its contract block: the source does not use the contract, or the frontmatter
 * breaks it.
 */
export function isContractUnserved({ contract: use }: Source, { frontmatter, contract }: Skill): boolean {
  if (use === true || contract !== undefined) return false
  return frontmatter !== undefined && Object.hasOwn(frontmatter, CONTRACT_KEY)
}

const MEND = 'the source has contract: false, or the findings (contract-noted) say what to correct'

/** The hint for one skill. */
export const UNSERVED_CONTRACT = `it has an ${CONTRACT_KEY} block that is not served at resource://: ${MEND}`

/** The hint for several skills of one source. */
export function unservedContractsText(count: number): string {
  const have = count === 1 ? 'has' : 'have'
  return `${countOf(count, 'skill')} ${have} an ${CONTRACT_KEY} block that is not served at resource://: ${MEND}`
}
