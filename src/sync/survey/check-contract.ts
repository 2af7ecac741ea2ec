import type { JsonObject } from '../../base/json-value.ts'
import { baseName } from '../../base/paths.ts'
import type { ContractUse } from '../model/source.ts'
import { NOT_OFFERED, faultAt, type ContractFault } from '../skill/contract/contract-error.ts'
import { CONTRACT_KEY, type Contract } from '../skill/contract/contract.ts'
import { readContract } from '../skill/contract/read-contract.ts'
import { diagnosticAbout } from '../skill/skill-diagnostic.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/** The result of the contract for one skill: a violation withholds it, a note does not. */
export interface CheckedContracts {
  readonly contract?: Contract
  readonly violated: readonly ContractFault[]
  readonly noted: readonly ContractFault[]
}

/**
 * Checks a skill against the contract. Unless its source requires it, a skill without the block gets no messages, and
 * faults of an existing block are only notes. `folder` is relative to the repository's root; empty for the root
 * itself, which each clone names as it likes. `files` is `undefined` if they are unknown.
 */
export function checkContract(
  frontmatter: JsonObject | undefined,
  folder: string,
  files: readonly string[] | undefined,
  use: ContractUse,
): CheckedContracts {
  const isAsked = use === true
  if (frontmatter === undefined) return isAsked ? UNREADABLE : NOTHING
  if (!isAsked && !Object.hasOwn(frontmatter, CONTRACT_KEY)) return NOTHING
  const reading = readContract(frontmatter, folder === '' ? undefined : baseName(folder), files)
  const violations = reading.ok ? [] : reading.violations
  if (use === 'offer' && reading.ok)
    return { contract: { ...reading.contract, isOffered: true }, violated: [], noted: few(reading.notes) }
  if (use === 'offer') return { violated: [], noted: few([NOT_OFFERED, ...violations, ...reading.notes]) }
  if (!isAsked) {
    const ofBlock = [...violations, ...reading.notes].filter(({ keys }) => keys[0] === CONTRACT_KEY)
    return { violated: [], noted: few(ofBlock) }
  }
  const noted = few(reading.notes)
  if (reading.ok) return { contract: reading.contract, violated: [], noted }
  return { violated: few(violations), noted }
}

const NOTHING: CheckedContracts = { violated: [], noted: [] }
const UNREADABLE: CheckedContracts = {
  violated: [faultAt([], 'The frontmatter cannot be read, and the source requires the contract in it')],
  noted: [],
}

/** A frontmatter has room for thousands. */
const MOST_FAULTS = 16

function few(faults: readonly ContractFault[]): readonly ContractFault[] {
  const left = faults.length - MOST_FAULTS
  return left > 0 ? [...faults.slice(0, MOST_FAULTS), faultAt([], `${left} more such findings are left out`)] : faults
}

/** The findings for the skill in the folder `path`, each about the field with which its message begins. */
export function contractFindings(path: string, { violated, noted }: CheckedContracts): SkillDiagnostic[] {
  return [
    ...violated.map((fault) => findingOf('contract-violated', path, fault)),
    ...noted.map((fault) => findingOf('contract-noted', path, fault)),
  ]
}

function findingOf(
  rule: 'contract-violated' | 'contract-noted',
  path: string,
  { path: field, keys, message }: ContractFault,
): SkillDiagnostic {
  const said = field === '' ? message : `${field}: ${message}`
  return diagnosticAbout({ kind: 'field', keys }, { rule, path, message: said })
}
