import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'
import type { FrontmatterText } from '../frontmatter-text.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../frontmatter.ts'
import { isSkillName } from '../skill-name.ts'
import { CONTRACT_KEY } from './contract.ts'
import { PROJECTED, TEXTS, contractDocument, orderOfMetadata, projectionRefusal } from './projection.ts'
import type { ProjectionFault } from './projection.ts'

/** The author's original SKILL.md, or the reason why it cannot be restored from this one. */
export type Reconstruction =
  | { readonly ok: true; readonly name: string; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly faults: readonly ProjectionFault[] }

/** Undoes `project`, except for the dropped fields: the block is a block again, the body is unchanged. */
export function reconstruct(bytes: Uint8Array): Reconstruction {
  const reading = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!reading.ok) return projectionRefusal([{ field: 'frontmatter', message: reading.message }])
  const { frontmatter, bodyStart } = reading
  const { name, metadata } = frontmatter
  if (typeof name !== 'string' || !isSkillName(name))
    return projectionRefusal([{ field: 'name', message: 'has to be 1 to 64 of a-z, 0-9 and single inner hyphens' }])
  if (frontmatter[CONTRACT_KEY] !== undefined)
    return projectionRefusal([{ field: CONTRACT_KEY, message: 'is there already: this is not a projection' }])
  const parts = isMapping(metadata) ? partsOf(metadata, orderOfMetadata(bytes, bodyStart)) : undefined
  if (parts !== undefined && parts.faults.length > 0) return projectionRefusal(parts.faults)
  const id = parts?.block.get('id')
  if (id !== undefined && id !== name)
    return projectionRefusal([
      { field: `metadata.${PROJECTED}id`, message: 'has to equal `name`: this is not a projection' },
    ])
  const [fields, body] = [fieldsOf(frontmatter, parts), bytes.subarray(bodyStart)]
  const inLines = contractDocument(fields, body)
  // Content that a projection has on one line may need more space on many than a frontmatter has.
  const written = inLines.ok ? inLines : contractDocument(fields, body, 'compact')
  return written.ok ? { ok: true, name, bytes: written.bytes } : written
}

interface Parts {
  readonly metadata: Map<string, FrontmatterText>
  readonly block: Map<string, FrontmatterText>
  readonly faults: ProjectionFault[]
}

function partsOf(metadata: JsonObject, order: readonly string[]): Parts {
  const parts: Parts = { metadata: new Map(), block: new Map(), faults: [] }
  for (const key of order) {
    const value = metadata[key] ?? null
    if (!key.startsWith(PROJECTED)) {
      parts.metadata.set(key, value)
      continue
    }
    const member = key.slice(PROJECTED.length)
    const meant = TEXTS.has(member) ? textOrNothing(value) : parseValue(value)
    if (meant === undefined)
      parts.faults.push({
        field: `metadata.${key}`,
        message: TEXTS.has(member)
          ? 'has to be a text; put it in quotes'
          : 'has to be a text that holds JSON, with no number that is read differently: whole ones are below 2^53',
      })
    else parts.block.set(member, meant)
  }
  return parts
}

function textOrNothing(value: JsonValue): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/**
 * `undefined` if the text is not JSON, is nested deeper than a frontmatter may be, or has a number that its reader
 * changed.
 */
function parseValue(text: JsonValue): JsonValue | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value: JsonValue = JSON.parse(text)
    return isWithin(value, FRONTMATTER_LIMITS.depth) ? JSON.parse(text, withoutNegativeZero) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function isWithin(value: JsonValue, levels: number): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) || (Number.isFinite(value) && value % 1 !== 0)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isWithin(member, levels - 1))
}

/** A frontmatter has no negative zero: it would come back as another number. */
function withoutNegativeZero(_: string, value: JsonValue): JsonValue {
  return value === 0 ? 0 : value
}

/** The standard fields come first, in their order. */
const FIRST = ['name', 'description', 'license', 'compatibility', 'allowed-tools']

function fieldsOf(frontmatter: JsonObject, parts: Parts | undefined): Map<string, FrontmatterText> {
  const others = Object.keys(frontmatter).filter((name) => !FIRST.includes(name) && name !== 'metadata')
  const fields = new Map<string, FrontmatterText>()
  for (const name of [...FIRST, ...others]) {
    const value = frontmatter[name]
    if (value !== undefined) fields.set(name, value)
  }
  if (parts === undefined) {
    if (frontmatter['metadata'] !== undefined) fields.set('metadata', frontmatter['metadata'])
    return fields
  }
  if (parts.metadata.size > 0) fields.set('metadata', parts.metadata)
  if (parts.block.size > 0) fields.set(CONTRACT_KEY, parts.block)
  return fields
}
