import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isMapping } from '../../base/json-value.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import { shownValue } from '../skill/contract/contract-value.ts'
import type { FrontmatterReading } from '../skill/frontmatter.ts'

/**
 * The reason why these bytes are not the file that the skill declares; `undefined` if they are. The length is checked
 * first: it needs no hash. The frontmatter of SKILL.md must equal that of the entry (SEP-2640).
 */
export async function mismatchOf(
  { frontmatter }: Skill,
  { path, size, sha256 }: SkillFile,
  bytes: Uint8Array,
  read: (document: Uint8Array) => Promise<FrontmatterReading>,
): Promise<string | undefined> {
  if (bytes.byteLength !== size) return `"${path}" has ${bytes.byteLength} bytes, and ${size} are declared`
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256) return `The SHA-256 of "${path}" is ${found}, and ${sha256} is declared`
  return path === 'SKILL.md' && frontmatter !== undefined ? differenceIn(frontmatter, await read(bytes)) : undefined
}

function differenceIn(declared: JsonObject, read: FrontmatterReading): string | undefined {
  if (!read.ok) return `The frontmatter of SKILL.md cannot be compared with the one that is declared: ${read.message}`
  const apart = firstApart(read.frontmatter, declared, [])
  if (apart === undefined) return undefined
  const { path, is, said } = apart
  return `The field ${path.join('.')} of SKILL.md is ${shownValue(is)}, and ${shownValue(said)} is declared`
}

interface Apart {
  readonly path: readonly string[]
  readonly is: unknown
  readonly said: unknown
}

/** The first difference of two values, at the deepest level that has a name. Both have limited depth. */
function firstApart(
  is: JsonValue | undefined,
  said: JsonValue | undefined,
  path: readonly string[],
): Apart | undefined {
  if (isDeepStrictEqual(is, said)) return undefined
  if (!isMapping(is) || !isMapping(said)) return { path, is, said }
  for (const key of new Set([...Object.keys(said), ...Object.keys(is)])) {
    const apart = firstApart(is[key], said[key], [...path, key])
    if (apart !== undefined) return apart
  }
  return undefined
}
