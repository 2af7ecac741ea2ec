import type { JsonObject, JsonValue } from '../../../../base/json-value.ts'
import { isMapping } from '../../../../base/json-value.ts'
import type { Offered } from '../../../../sync/catalog/tool-catalog.ts'
import { CONTRACT_KEY } from '../../../../sync/skill/contract/contract.ts'

/** The searched texts of a skill. It is plain data, because it is sent to the thread that holds the index. */
export interface Searchable {
  /** The id as `list_skills` returns it. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly whenToUse: string
  readonly tags: string
  /** The headings of SKILL.md, one per line. */
  readonly headings: string
}

/** The fields that are searched. */
export const FIELDS = [
  'id',
  'name',
  'description',
  'whenToUse',
  'tags',
  'headings',
] as const satisfies readonly (keyof Searchable)[]

/**
 * Returns all fields but the headings, which are not part of the frontmatter. Limits on length keep each skill within
 * its share.
 */
export function searchableOf({ id, name, description, skill: { frontmatter = {} } }: Offered): Searchable {
  return {
    id,
    name: cut(name, NAME_CHARACTERS),
    description: cut(description, TEXT_CHARACTERS),
    whenToUse: joinTexts(textsIn(frontmatter['when_to_use']), TEXT_CHARACTERS),
    tags: joinTexts(taggedIn(frontmatter), TAG_CHARACTERS),
    headings: '',
  }
}

const NAME_CHARACTERS = 256
/** A limit above the one that Agent Skills sets for a description. */
const TEXT_CHARACTERS = 2_048
const TAG_CHARACTERS = 1_024

function cut(text: string, characters: number): string {
  return text.slice(0, characters)
}

function joinTexts(texts: readonly string[], characters: number): string {
  return cut(
    texts
      .slice(0, characters)
      .map((text) => cut(text, characters))
      .join('\n'),
    characters,
  )
}

/**
 * Reads the search words from the places that public collections use: the top level, `metadata`, and the URI contract
 * block.
 */
function taggedIn(frontmatter: JsonObject): string[] {
  const places = [frontmatter, frontmatter['metadata'], frontmatter[CONTRACT_KEY]]
  return places.filter(isMapping).flatMap((place) => TAG_KEYS.flatMap((key) => textsIn(place[key])))
}

const TAG_KEYS = ['tags', 'keywords', 'triggers', 'category'] as const

/** Returns the text, or the texts of a list. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
