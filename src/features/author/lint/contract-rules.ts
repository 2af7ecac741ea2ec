import { baseName, joinPath } from '../../../base/paths.ts'
import { NOT_OFFERED } from '../../../sync/skill/contract/contract-error.ts'
import type { ContractFault } from '../../../sync/skill/contract/contract-error.ts'
import { CONTRACT_KEY } from '../../../sync/skill/contract/contract.ts'
import { readContract } from '../../../sync/skill/contract/read-contract.ts'
import type { ContractReading } from '../../../sync/skill/contract/read-contract.ts'
import { lifecycleOf } from '../../../sync/skill/lifecycle.ts'
import type { FrontmatterPath } from '../../../sync/skill/skill-diagnostic.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { START } from './lines.ts'
import type { TextPosition } from './lines.ts'
import type { Authored } from './lint-input.ts'

/** A contract skill, with the places of its id and its dependencies. */
export interface Declaration {
  readonly id: string
  readonly dependsOn: readonly string[]
  readonly file: string
  readonly idPlace: TextPosition
  readonly dependsOnPlace: TextPosition
  /** True if the contract is required: then a fault between skills is an error, and otherwise a note. */
  readonly isAsked: boolean
}

/**
 * Checks an existing block even if no source requires the contract, since its author intends it. Faults count as in a
 * source: where the contract is only offered, the skill is served without it, and those of the block are notes.
 */
export function contractLintDiagnostics(skill: Authored, isAsked: boolean): LintDiagnostic[] {
  const reading = readingOf(skill)
  if (reading === undefined) return []
  const path = joinPath(skill.path, skill.documentName)
  const diagnostic = (code: LintDiagnostic['code'], fault: ContractFault): LintDiagnostic => {
    const message = `${fault.path}: ${fault.message}`
    return { code, path, place: keyPlace(skill, fault.keys), message }
  }
  const violations = reading.ok ? [] : reading.violations
  const notes = reading.notes.map((fault) => diagnostic('contract-noted', fault))
  if (isAsked) return [...violations.map((fault) => diagnostic('contract-violated', fault)), ...notes]
  const ofBlock = violations.filter(({ keys }) => keys[0] === CONTRACT_KEY)
  return [
    ...(reading.ok ? [] : [NOT_OFFERED, ...ofBlock]).map((fault) => diagnostic('contract-noted', fault)),
    ...notes,
  ]
}

/** `undefined` for a skill that does not keep the contract. */
export function contractDeclarationOf(skill: Authored, isAsked: boolean): Declaration | undefined {
  const reading = readingOf(skill)
  if (reading?.ok !== true) return undefined
  const { id, dependsOn } = reading.contract
  return {
    id,
    dependsOn,
    file: joinPath(skill.path, skill.documentName),
    idPlace: keyPlace(skill, [CONTRACT_KEY, 'id']),
    dependsOnPlace: keyPlace(skill, [CONTRACT_KEY, 'depends_on']),
    isAsked,
  }
}

/** The dependencies in `metadata`, which are names. `undefined` for a skill without a name. */
export function namedDeclarationOf(skill: Authored): Declaration | undefined {
  const id = skill.frontmatter?.['name']
  if (typeof id !== 'string') return undefined
  return {
    id,
    dependsOn: lifecycleOf(skill).dependsOn ?? [],
    file: joinPath(skill.path, skill.documentName),
    idPlace: keyPlace(skill, ['name']),
    dependsOnPlace: keyPlace(skill, ['metadata', 'depends_on']),
    isAsked: true,
  }
}

/** True if the skill has a block, which is then judged here and not by the survey's findings. */
export function hasBlock({ frontmatter }: Pick<Authored, 'frontmatter'>): boolean {
  return frontmatter !== undefined && Object.hasOwn(frontmatter, CONTRACT_KEY)
}

function readingOf(skill: Authored): ContractReading | undefined {
  const { path, folder, frontmatter, files } = skill
  if (frontmatter === undefined || !hasBlock(skill)) return undefined
  const held = files.length === 0 ? undefined : files.map((file) => file.path)
  return readContract(frontmatter, path === '' ? folder : baseName(path), held)
}

function keyPlace({ document }: Authored, keys: FrontmatterPath): TextPosition {
  return document === undefined ? START : positionOf(document, keys, 'value')
}
