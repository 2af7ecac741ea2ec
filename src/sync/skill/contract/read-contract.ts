import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { isMapping, isTexts } from '../../../base/json-value.ts'
import { isReferencePath, referencePathOf } from '../reference-path.ts'
import { contractFaultsOf, faultAt } from './contract-error.ts'
import type { ContractFault } from './contract-error.ts'
import { switchNotes } from './contract-flags.ts'
import { BLOCK, IGNORED_FIELDS, isMediaType, isSemantic, STANDARD_FIELDS } from './contract-schema.ts'
import type { ContractBlock } from './contract-schema.ts'
import { shownValue, trimWhitespace } from './contract-value.ts'
import { CONTRACT_KEY, isContractId } from './contract.ts'
import type { Contract, Icon, Reference } from './contract.ts'

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

/** The valid icons, with their valid fields, and the faults of the rest. */
function contractIcons(value: unknown): { readonly icons: Icon[]; readonly faults: ContractFault[] } {
  if (value === undefined) return { icons: [], faults: [] }
  if (!Array.isArray(value))
    return { icons: [], faults: [faultAt(AT, `${shownValue(value)} is not a list; it is left out`)] }
  const read = value.slice(0, MOST_ICONS).map((item: unknown, index) => iconOf(item, index))
  const faults = read.flatMap((one) => one.faults)
  if (value.length > MOST_ICONS) {
    faults.push(faultAt(AT, `there are ${value.length} icons; those after the first ${MOST_ICONS} are left out`))
  }
  return { icons: read.flatMap(({ icon }) => icon ?? []), faults }
}

/** One for each size and theme, with room to spare. Each list of resources contains them all. */
const MOST_ICONS = 8

const AT = [CONTRACT_KEY, 'icons']

interface Read {
  readonly icon?: Icon
  readonly faults: readonly ContractFault[]
}

function iconOf(item: unknown, index: number): Read {
  const given = isMapping(item) ? item['src'] : undefined
  const src = typeof given === 'string' ? sourceOf(given) : undefined
  if (!isMapping(item) || src === undefined) {
    const message = `${shownValue(given ?? item)} is neither an https: address nor an image as data: in base64; the icon is left out`
    return { faults: [faultAt([...AT, index, 'src'], message)] }
  }
  const { mimeType, sizes } = item
  const faults: ContractFault[] = []
  const unusable = (key: string, wanted: unknown): void => {
    faults.push(faultAt([...AT, index, key], `${shownValue(wanted)} is not what MCP has there; it is left out`))
  }
  const isTyped = typeof mimeType === 'string' && isMediaType(mimeType)
  if (mimeType !== undefined && !isTyped) unusable('mimeType', mimeType)
  const isSized =
    isTexts(sizes) && sizes.length <= MOST_SIZES && sizes.every((size) => /^(?:any|\d{1,5}x\d{1,5})$/.test(size))
  if (sizes !== undefined && !isSized) unusable('sizes', sizes)
  return { icon: { src, ...(isTyped && { mimeType }), ...(isSized && { sizes }) }, faults }
}

/**
 * The address to publish. No page of ours shows an icon. A client that does is never sent to a host over an unencrypted
 * connection, and never gets anything but an image.
 */
function sourceOf(src: string): string | undefined {
  if (IMAGE.test(src)) return src.length <= MAX_DATA ? src : undefined
  const url = src.length <= MAX_ADDRESS ? URL.parse(src) : null
  const isOpen = url?.protocol === 'https:' && url.username === '' && url.password === ''
  return isOpen && url.href.length <= MAX_ADDRESS ? url.href : undefined
}

/** MCP allows images as data only in base64. */
const IMAGE = /^data:image\/[a-z0-9][a-z0-9.+-]*;base64,[A-Za-z0-9+/]+={0,2}$/

const MAX_ADDRESS = 2_048
const MAX_DATA = 16_384
const MOST_SIZES = 16

/** Notes on content that the contract permits. `written` is the original block, with its unknown fields. */
function contractNotes(
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
