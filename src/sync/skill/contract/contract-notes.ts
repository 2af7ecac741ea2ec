import type { JsonValue } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'
import { faultAt, type ContractFault } from './contract-error.ts'
import { isSemantic, type ContractBlock } from './contract-schema.ts'
import { shownValue } from './contract-value.ts'
import { CONTRACT_KEY, isContractId } from './contract.ts'

/** Notes on content that the contract permits. `written` is the original block, with its unknown fields. */
export function contractNotes(
  block: ContractBlock,
  written: JsonValue | undefined,
  files: ReadonlySet<string> | undefined,
): ContractFault[] {
  return [
    ...versionNotes(block),
    ...tagNotes(block.tags ?? []),
    ...capabilityNotes(block),
    ...dependencyNotes(block),
    ...referenceNotes(block),
    ...retiredLooks(written, files),
  ]
}

function at(keys: readonly PropertyKey[], message: string): ContractFault {
  return faultAt([CONTRACT_KEY, ...keys], message)
}

function versionNotes({ version }: ContractBlock): ContractFault[] {
  if (isSemantic(version)) return []
  return [
    at(['version'], `${shownValue(version)} is not a semantic version by semver.org; other readers may refuse it`),
  ]
}

function tagNotes(tags: readonly string[]): ContractFault[] {
  const unlike = tags.flatMap((tag, index) =>
    /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(tag)
      ? []
      : [at(['tags', index], `${shownValue(tag)} is not kebab-case; write it as in code-review`)],
  )
  return [...unlike, ...repetitionFaults('tags', tags)]
}

function repetitionFaults(key: string, texts: readonly string[]): ContractFault[] {
  const met = new Set<string>()
  return texts.flatMap((text, index) => {
    if (met.has(text)) return [at([key, index], `${shownValue(text)} is there twice; remove one`)]
    met.add(text)
    return []
  })
}

function capabilityNotes(block: ContractBlock): ContractFault[] {
  const { capabilities } = block
  const astray = capabilities.flatMap((uri, index) => {
    const why = astrayReason(uri, block)
    return why === undefined ? [] : [at(['capabilities', index], `${shownValue(uri)} ${why}`)]
  })
  return [...astray, ...repetitionFaults('capabilities', capabilities)]
}

/**
 * The reason why an address of our family does not lead to content of this skill. Addresses of other families cannot be
 * checked here.
 */
function astrayReason(uri: string, { id, references }: ContractBlock): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:./i.test(uri)) return 'is not a URI; write the whole address, resource://…'
  if (!uri.startsWith('resource://') || uri.startsWith('resource://docs/')) return undefined
  if (uri === 'resource://catalog/skills_index') return undefined
  const [, family, skill, rest] = /^resource:\/\/(skills|catalog\/skills)\/([^/]*)(.*)$/s.exec(uri) ?? []
  if (skill === undefined) return 'leads nowhere: the family has no such address'
  if (skill !== id) return `leads to another skill; each lists its own addresses`
  if (rest === (family === 'skills' ? '/document' : '')) return undefined
  const reference = family === 'skills' && rest?.startsWith('/references/') ? rest.slice('/references/'.length) : ''
  if (!isContractId(reference)) return 'leads nowhere: the family has no such address'
  return references?.has(reference)
    ? undefined
    : `leads nowhere: no reference is called ${shownValue(reference)}; declare it`
}

function dependencyNotes({ id, depends_on: dependsOn = [] }: ContractBlock): ContractFault[] {
  const itself = dependsOn.flatMap((other, index) =>
    other === id ? [at(['depends_on', index], `${shownValue(other)} is the skill itself; remove it`)] : [],
  )
  return [...itself, ...repetitionFaults('depends_on', dependsOn)]
}

function referenceNotes({ references = new Map() }: ContractBlock): ContractFault[] {
  const owners = new Map<string, string>()
  return [...references].flatMap(([id, { path }]) => {
    const owner = owners.get(path)
    owners.set(path, owner ?? id)
    if (owner === undefined) return []
    return [at(['references', id], `leads to the file of ${shownValue(owner)}; a document has one address, remove one`)]
  })
}

/** Forms from before the contract, and from a draft of it. */
function retiredLooks(written: JsonValue | undefined, files: ReadonlySet<string> | undefined): ContractFault[] {
  const references = isMapping(written) ? written['references'] : undefined
  const entries = isMapping(references) ? Object.entries(references) : []
  const places = [[[], written] as const, ...entries.map(([id, entry]) => [['references', id], entry] as const)]
  const aliases = places.flatMap(([keys, value]) =>
    isMapping(value) && value['aliases'] !== undefined
      ? [at([...keys, 'aliases'], 'is not served: the old id of a renamed reference is not kept; remove it')]
      : [],
  )
  const sidecar = files?.has('metadata.yaml') === true
  return sidecar ? [...aliases, at([], 'is what counts; metadata.yaml beside SKILL.md is not read')] : aliases
}
