import type { JsonObject } from '../../base/json-value.ts'
import { baseName } from '../../base/paths.ts'
import type { ContractFault } from '../skill-md/contract/contract-error.ts'
import { CONTRACT_KEY, type Contract } from '../skill-md/contract/contract.ts'
import { readContract } from '../skill-md/contract/read-contract.ts'

/**
 * The result of the contract for one skill: a violation withholds it, a note does not. Each message begins with the
 * field.
 */
export interface CheckedContracts {
  readonly contract?: Contract
  readonly violated: readonly string[]
  readonly noted: readonly string[]
}

/**
 * Checks a skill against the contract if its source requires it. Otherwise a skill without the block gets no messages,
 * and faults of an existing block are only notes. `folder` is relative to the repository's root; empty for the root
 * itself, which each clone names as it likes. `files` is `undefined` if they are unknown.
 */
export function checkContract(
  frontmatter: JsonObject | undefined,
  folder: string,
  files: readonly string[] | undefined,
  isAsked: boolean,
): CheckedContracts {
  if (frontmatter === undefined) return isAsked ? UNREADABLE : NOTHING
  if (!isAsked && !Object.hasOwn(frontmatter, CONTRACT_KEY)) return NOTHING
  const reading = readContract(frontmatter, folder === '' ? undefined : baseName(folder), files)
  const violations = reading.ok ? [] : reading.violations
  if (!isAsked) {
    const ofBlock = [...violations, ...reading.notes].filter(({ path }) => path.startsWith(CONTRACT_KEY))
    return { violated: [], noted: few(ofBlock.map(messageOf)) }
  }
  const noted = few(reading.notes.map(messageOf))
  if (reading.ok) return { contract: reading.contract, violated: [], noted }
  return { violated: few(violations.map(messageOf)), noted }
}

const NOTHING: CheckedContracts = { violated: [], noted: [] }
const UNREADABLE: CheckedContracts = {
  violated: ['The frontmatter cannot be read, and the source asks for the contract in it'],
  noted: [],
}

function messageOf({ path, message }: ContractFault): string {
  return `${path}: ${message}`
}

/** A frontmatter has room for thousands. */
const MOST_FAULTS = 16

function few(messages: readonly string[]): string[] {
  const left = messages.length - MOST_FAULTS
  return left > 0 ? [...messages.slice(0, MOST_FAULTS), `${left} more such findings are left out`] : [...messages]
}
