import { CONTRACT_KEY } from '../../sync/skill-md/contract/contract.ts'
import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isMapping } from '../../base/json-value.ts'
import type { Offered } from '../../sync/catalog/tool-catalog.ts'

/** What of a skill is searched. Plain data: it goes to the thread that holds the index. */
export interface Searchable {
  /** As `list_skills` gives it. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly whenToUse: string
  readonly tags: string
  /** Of its SKILL.md, one a line. */
  readonly headings: string
}

/** The fields that words are looked for in. */
export const FIELDS = [
  'id',
  'name',
  'description',
  'whenToUse',
  'tags',
  'headings',
] as const satisfies readonly (keyof Searchable)[]

/** All of it but the headings, which stand in no frontmatter. Whatever authors write, no skill takes more than its share. */
export function searchableOf({ id, name, description, skill: { frontmatter = {} } }: Offered): Searchable {
  return {
    id,
    name: cut(name, NAME_CHARACTERS),
    description: cut(description, TEXT_CHARACTERS),
    whenToUse: joined(textsIn(frontmatter['when_to_use']), TEXT_CHARACTERS),
    tags: joined(taggedIn(frontmatter), TAG_CHARACTERS),
    headings: '',
  }
}

const NAME_CHARACTERS = 256
/** Longer than Agent Skills lets a description be. */
const TEXT_CHARACTERS = 2_048
const TAG_CHARACTERS = 1_024

function cut(text: string, characters: number): string {
  return text.slice(0, characters)
}

function joined(texts: readonly string[], characters: number): string {
  return cut(
    texts
      .slice(0, characters)
      .map((text) => cut(text, characters))
      .join('\n'),
    characters,
  )
}

/** Where public collections have words to find a skill by: at the top, below `metadata`, in the block of the URI contract. */
function taggedIn(frontmatter: JsonObject): string[] {
  const places = [frontmatter, frontmatter['metadata'], frontmatter[CONTRACT_KEY]]
  return places.filter(isMapping).flatMap((place) => TAG_KEYS.flatMap((key) => textsIn(place[key])))
}

const TAG_KEYS = ['tags', 'keywords', 'triggers', 'category'] as const

/** The text, or the texts of the list. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
