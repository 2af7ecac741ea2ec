import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'
import { isReferencePath, referencePathOf } from '../reference-path.ts'
import { faultAt, contractFaultsOf } from './contract-error.ts'
import type { ContractFault } from './contract-error.ts'
import { switchNotes } from './contract-flags.ts'
import { contractIcons } from './contract-icons.ts'
import { contractNotes } from './contract-notes.ts'
import { BLOCK, IGNORED_FIELDS, STANDARD_FIELDS } from './contract-schema.ts'
import type { ContractBlock } from './contract-schema.ts'
import { shownValue, trimWhitespace } from './contract-value.ts'
import { CONTRACT_KEY, isContractId } from './contract.ts'
import type { Contract, Reference } from './contract.ts'

/** The result of checking one frontmatter against the contract. A violation breaks the contract; a note does not. */
export type ContractReading =
  | { readonly ok: true; readonly contract: Contract; readonly notes: readonly ContractFault[] }
  | { readonly ok: false; readonly violations: readonly ContractFault[]; readonly notes: readonly ContractFault[] }

/**
 * Checks any frontmatter against the contract. `folderName` is the name of the skill's folder; `undefined` if it has
 * none, at the root of a repository. `files` are its served files, relative to its folder; `undefined` if unknown, and
 * then references are not checked.
 */
export function readContract(
  frontmatter: JsonObject,
  folderName: string | undefined,
  files: Iterable<string> | undefined,
): ContractReading {
  const value = frontmatter[CONTRACT_KEY]
  const block = BLOCK.safeParse(value)
  const held = files === undefined ? undefined : new Set(files)
  const violations = [
    ...contractFaultsOf(STANDARD_FIELDS.safeParse(frontmatter).error, []),
    ...(value === undefined ? [MISSING] : contractFaultsOf(block.error, [CONTRACT_KEY])),
    ...disagreements(frontmatter, folderName),
    ...missingDocument(value),
    ...missingFiles(value, held),
  ]
  if (!block.success) return { ok: false, violations, notes: [] }
  const { icons, faults } = contractIcons(block.data.icons)
  const contract = contractOf(block.data, icons)
  const ignored = contractFaultsOf(IGNORED_FIELDS.safeParse(frontmatter).error, [])
  const notes = [...ignored, ...switchNotes(frontmatter), ...contractNotes(block.data, value, held), ...faults]
  return violations.length === 0 ? { ok: true, contract, notes } : { ok: false, violations, notes }
}

const MISSING = faultAt([CONTRACT_KEY], 'is missing; add the block, with id, version and capabilities')

function contractOf(block: ContractBlock, icons: Contract['icons']): Contract {
  const references = [...(block.references ?? [])].map(([id, entry]) => referenceOf(id, entry))
  return {
    id: block.id,
    version: block.version,
    tags: once(block.tags),
    capabilities: once(block.capabilities),
    dependsOn: once(block.depends_on).filter((id) => id !== block.id),
    references: references.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    icons,
  }
}

type Entry = NonNullable<ContractBlock['references']> extends ReadonlyMap<string, infer Value> ? Value : never

function referenceOf(id: string, { path, mime_type: mimeType = 'text/markdown', title }: Entry): Reference {
  if (title === undefined || title === null || title === '') return { id, path, mimeType }
  return { id, path, mimeType, title }
}

function once(texts: readonly string[] = []): string[] {
  return [...new Set(texts)]
}

/** Name, folder and id must be equal. Checks those that exist, whatever else is wrong. */
function disagreements(frontmatter: JsonObject, folderName: string | undefined): ContractFault[] {
  const { name, [CONTRACT_KEY]: block } = frontmatter
  const id = isMapping(block) ? textIn(block['id']) : undefined
  const faults: ContractFault[] = []
  if (typeof name === 'string' && folderName !== undefined && name !== folderName) {
    const message = `${shownValue(name)} is not the name of its folder, ${shownValue(folderName)}; rename one of the two`
    faults.push(faultAt(['name'], message))
  }
  if (id !== undefined && typeof name === 'string' && id !== trimWhitespace(name)) {
    const message = `${shownValue(id)} is not the name ${shownValue(name)}; make them the same`
    faults.push(faultAt([CONTRACT_KEY, 'id'], message))
  }
  return faults
}

function missingDocument(block: JsonValue | undefined): ContractFault[] {
  if (!isMapping(block) || !Array.isArray(block['capabilities']) || block['capabilities'].length === 0) return []
  const id = textIn(block['id'])
  if (id === undefined || !isContractId(id)) return []
  const document = `resource://skills/${id}/document`
  const listed: readonly JsonValue[] = block['capabilities']
  if (listed.some((uri) => textIn(uri) === document)) return []
  return [faultAt([CONTRACT_KEY, 'capabilities'], `has no ${shownValue(document)}; add it`)]
}

function missingFiles(block: JsonValue | undefined, files: ReadonlySet<string> | undefined): ContractFault[] {
  const references = isMapping(block) ? block['references'] : undefined
  if (files === undefined || !isMapping(references)) return []
  return Object.entries(references).flatMap(([id, reference]) => {
    const path = isMapping(reference) ? textIn(reference['path']) : undefined
    if (path === undefined || !isReferencePath(path) || files.has(referencePathOf(path))) return []
    const message = `${shownValue(path)} is none of the skill's files; add it, or remove the reference`
    return [faultAt([CONTRACT_KEY, 'references', id, 'path'], message)]
  })
}

function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? trimWhitespace(value) : undefined
}
