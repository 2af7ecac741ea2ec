import { isDeepStrictEqual } from 'node:util'
import { isMap, isScalar, parseDocument } from 'yaml'
import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { isMapping, isTexts } from '../../../base/json-value.ts'
import { frontmatterText } from '../frontmatter-text.ts'
import type { YamlForm, FrontmatterText } from '../frontmatter-text.ts'
import { FRONTMATTER_LIMITS, YAML_RULES, readFrontmatter, utf8 } from '../frontmatter.ts'
import { isSkillName } from '../skill-name.ts'
import { CLAUDE_CODE_FIELDS, COMPATIBILITY_CHARACTERS, DESCRIPTION_CHARACTERS } from '../standard-fields.ts'
import { isOneTool, toolsIn } from '../tool-list.ts'
import { CONTRACT_KEY } from './contract.ts'

/**
 * The readers of a projection: those that accept only the standard fields, or Claude Code, which has some of its own.
 */
export type Profile = 'strict' | 'claude-code'

/** A projected SKILL.md, or all faults that prevent it. */
export type Projection =
  | {
      readonly ok: true
      readonly name: string
      readonly bytes: Uint8Array
      /** The fields that were left out, sorted. */
      readonly dropped: readonly string[]
    }
  | { readonly ok: false; readonly faults: readonly ProjectionFault[] }

/** One reason why a SKILL.md cannot be projected, or a projection cannot be undone. */
export interface ProjectionFault {
  /** `frontmatter`, or the path of a field such as `metadata.version`. */
  readonly field: string
  readonly message: string
}

/**
 * The SKILL.md with standard fields only: the content of `x-personal-mcp` becomes string keys of `metadata`, after
 * those of the author. The body stays the same to the last byte; equal bytes give equal bytes. `folder` is the name of
 * its folder, if known.
 */
export function project(bytes: Uint8Array, profile: Profile, folder?: string): Projection {
  const reading = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!reading.ok) return projectionRefusal([{ field: 'frontmatter', message: reading.message }])
  const { frontmatter, bodyStart } = reading
  const block = frontmatter[CONTRACT_KEY]
  const faults = [
    ...standardFaults(frontmatter),
    ...metadataFaults(frontmatter['metadata'], block !== undefined),
    ...blockFaults(block, frontmatter['name'], folder),
  ]
  if (faults.length > 0) return projectionRefusal(faults)
  const fields = new Map<string, FrontmatterText>([
    ...standardFields(frontmatter, metadataOf(frontmatter, orderOfMetadata(bytes, bodyStart))),
    ...(profile === 'claude-code'
      ? fieldsOf(frontmatter, CLAUDE_CODE_FIELDS).filter(([, value]) => isGiven(value))
      : []),
  ])
  const written = contractDocument(fields, bytes.subarray(bodyStart))
  if (!written.ok) return written
  const dropped = Object.keys(frontmatter).filter((name) => name !== CONTRACT_KEY && !fields.has(name))
  return { ok: true, name: textAt(frontmatter, 'name'), bytes: written.bytes, dropped }
}

/** The prefix of the keys that contain the members of the block in a projection. */
export const PROJECTED = `${CONTRACT_KEY}.`

/** The members of the block that are texts; all others are written as JSON. */
export const TEXTS: ReadonlySet<string> = new Set(['id', 'version'])

/** In the order in which they are written. Other members follow, sorted. */
const MEMBERS = ['id', 'version', 'tags', 'capabilities', 'depends_on', 'references']

/** Keys that are reserved for the protocol itself (SEP-2640). */
const RESERVED = 'io.modelcontextprotocol/'

function standardFaults(frontmatter: JsonObject): ProjectionFault[] {
  const { name, description, 'allowed-tools': tools } = frontmatter
  const faults: ProjectionFault[] = []
  if (typeof name !== 'string' || !isSkillName(name))
    faults.push({ field: 'name', message: 'has to be 1 to 64 of a-z, 0-9 and single inner hyphens' })
  if (
    typeof description !== 'string' ||
    description.trim() === '' ||
    Array.from(description).length > DESCRIPTION_CHARACTERS
  )
    faults.push({ field: 'description', message: 'has to be a text of 1 to 1,024 characters' })
  for (const field of ['license', 'compatibility']) {
    if (isGiven(frontmatter[field]) && typeof frontmatter[field] !== 'string')
      faults.push({ field, message: 'has to be a text; put it in quotes' })
  }
  const characters = Array.from(textAt(frontmatter, 'compatibility')).length
  if (says(frontmatter['compatibility']) && characters > COMPATIBILITY_CHARACTERS)
    faults.push({
      field: 'compatibility',
      message: `has ${characters} characters, and ${COMPATIBILITY_CHARACTERS} at most are allowed; shorten it`,
    })
  return [...faults, ...toolFaults(tools)]
}

/** True if the value is given and is not blank. */
function says(value: JsonValue | undefined): boolean {
  return isGiven(value) && (typeof value !== 'string' || value.trim() !== '')
}

function toolFaults(tools: JsonValue | undefined): ProjectionFault[] {
  const field = 'allowed-tools'
  if (!isGiven(tools) || typeof tools === 'string') return []
  if (!isList(tools)) return [{ field, message: 'has to be a text or a list of texts' }]
  return tools.flatMap((tool, index) => {
    if (typeof tool === 'string' && isOneTool(tool.trim())) return []
    const message = 'has to name one tool, with blanks and commas only inside closed parentheses'
    return [{ field: `${field}[${index}]`, message }]
  })
}

function metadataFaults(metadata: JsonValue | undefined, hasBlock: boolean): ProjectionFault[] {
  if (!isGiven(metadata)) return []
  if (!isMapping(metadata)) return [{ field: 'metadata', message: 'has to be a mapping of names to texts' }]
  return Object.entries(metadata).flatMap(([key, value]) => {
    const field = `metadata.${key}`
    if (key.startsWith(RESERVED)) return [{ field, message: `is reserved: only the protocol defines ${RESERVED}` }]
    if (key.startsWith(PROJECTED)) {
      const mend = hasBlock ? 'give it another name' : 'this is a projection already; --reverse undoes it'
      return [{ field, message: `is reserved by the projection for the members of ${CONTRACT_KEY}; ${mend}` }]
    }
    // YAML's reading of `1.10` is no longer the author's text, so it cannot be converted back to it.
    return typeof value === 'string' ? [] : [{ field, message: 'has to be a text; put it in quotes' }]
  })
}

/** The part of the contract that the projection relies on. */
function blockFaults(
  block: JsonValue | undefined,
  name: JsonValue | undefined,
  folder: string | undefined,
): ProjectionFault[] {
  if (block === undefined) return []
  if (!isMapping(block)) return [{ field: CONTRACT_KEY, message: 'has to be a mapping' }]
  const faults: ProjectionFault[] = []
  const expect = (member: string, holds: boolean, message: string): void => {
    if (!holds) faults.push({ field: `${PROJECTED}${member}`, message })
  }
  expect('id', block['id'] === name, 'has to equal `name`')
  expect('version', typeof block['version'] === 'string', 'has to be a text such as "1.0.0"; put it in quotes')
  expect('capabilities', isTexts(block['capabilities'] ?? null), 'has to be a list of URIs')
  for (const member of ['tags', 'depends_on']) expect(member, isTexts(block[member] ?? []), 'has to be a list of texts')
  expect('references', isMapping(block['references'] ?? {}), 'has to be a mapping of ids to documents')
  if (folder !== undefined && name !== folder)
    faults.push({ field: 'name', message: `has to equal the name of its folder, "${folder}"` })
  return faults
}

function standardFields(
  frontmatter: JsonObject,
  metadata: ReadonlyMap<string, string>,
): readonly (readonly [string, FrontmatterText])[] {
  const tools = frontmatter['allowed-tools']
  return [
    ...fieldsOf(frontmatter, ['name', 'description', 'license']).filter(([, value]) => isGiven(value)),
    ...fieldsOf(frontmatter, ['compatibility']).filter(([, value]) => says(value)),
    ...(isGiven(tools) ? [['allowed-tools', toolText(tools)] as const] : []),
    ...(metadata.size > 0 ? [['metadata', metadata] as const] : []),
  ]
}

function fieldsOf(frontmatter: JsonObject, names: readonly string[]): (readonly [string, JsonValue])[] {
  return names.flatMap((name) => {
    const value = frontmatter[name]
    return value === undefined ? [] : [[name, value] as const]
  })
}

/** Writes both forms as one text: the standard has no list, and separates tools only by whitespace. */
function toolText(tools: JsonValue): string {
  const named = isList(tools) ? textsIn(tools).map((tool) => tool.trim()) : textsIn([tools]).flatMap(toolsIn)
  return named.join(' ')
}

function metadataOf(frontmatter: JsonObject, order: readonly string[]): ReadonlyMap<string, string> {
  const { metadata, [CONTRACT_KEY]: block } = frontmatter
  const projected = new Map<string, string>()
  if (isMapping(metadata)) for (const key of order) projected.set(key, textAt(metadata, key))
  if (isMapping(block)) {
    const others = Object.keys(block).filter((member) => !MEMBERS.includes(member))
    for (const [member, value] of fieldsOf(block, [...MEMBERS, ...others]))
      projected.set(`${PROJECTED}${member}`, TEXTS.has(member) ? textAt(block, member) : JSON.stringify(value))
  }
  return projected
}

/** The keys of `metadata` in the author's order: reading as JSON sorts them. */
export function orderOfMetadata(bytes: Uint8Array, bodyStart: number): string[] {
  const text = utf8(bytes.subarray(0, bodyStart)) ?? ''
  const block = text.slice(text.indexOf('\n') + 1).replace(/---\r?\n?$/, '')
  const metadata = parseDocument(block, YAML_RULES).get('metadata')
  if (!isMap(metadata)) return []
  return metadata.items.map(({ key }) => String(isScalar(key) ? key.value : key))
}

/** The fields and the body as one file. The file is read back first: if the result differs, it is not returned. */
export function contractDocument(
  fields: ReadonlyMap<string, FrontmatterText>,
  body: Uint8Array,
  form: YamlForm = 'lines',
): { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly faults: ProjectionFault[] } {
  const bytes = Buffer.concat([Buffer.from(`---\n${frontmatterText(fields, form)}---\n`), body])
  const back = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!back.ok)
    return projectionRefusal([{ field: 'frontmatter', message: `cannot be written again: ${back.message}` }])
  if (isDeepStrictEqual(back.frontmatter, plain(fields))) return { ok: true, bytes }
  return projectionRefusal([
    { field: 'frontmatter', message: 'cannot be written again: it would be read as something else' },
  ])
}

function plain(value: FrontmatterText): unknown {
  return value instanceof Map
    ? Object.fromEntries([...value].map(([key, member]: [string, FrontmatterText]) => [key, plain(member)]))
    : value
}

/** The refusal of a file, with all reasons. */
export function projectionRefusal(faults: ProjectionFault[]): {
  readonly ok: false
  readonly faults: ProjectionFault[]
} {
  return { ok: false, faults }
}

/** For values that were already found to be texts. */
function textAt(values: JsonObject, key: string): string {
  return textsIn([values[key] ?? null])[0] ?? ''
}

function textsIn(values: readonly JsonValue[]): string[] {
  return values.filter((value) => typeof value === 'string')
}

/** False for a field without a value, which counts as absent. */
function isGiven(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
