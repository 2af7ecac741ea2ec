import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isMapping } from '../../base/json-value.ts'
import { CONTRACT_KEY } from '../skill/contract/contract.ts'

/**
 * The tags of a frontmatter, in lower case, each once: `tags` at its top, below `metadata` or in the block of the URI
 * contract, as a list or as one text with commas. No specification has the field; collections use all of these forms.
 */
export function tagsOf(frontmatter: JsonObject | undefined): readonly string[] {
  if (frontmatter === undefined) return []
  const places = [frontmatter, frontmatter['metadata'], frontmatter[CONTRACT_KEY]].filter(isMapping)
  const said = places.flatMap(({ tags }) => textsIn(tags)).map((tag) => tag.trim().toLowerCase())
  return [...new Set(said.filter((tag) => tag !== ''))]
}

function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return value.split(',')
  const entries = Array.isArray(value) ? value : [value]
  // YAML reads the tag 2024 as a number.
  return entries.filter((entry) => typeof entry !== 'object' && entry !== undefined).map(String)
}
