import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isMapping } from '../../base/json-value.ts'
import type { SkillDiagnostic, SkillCode } from './skill-diagnostic.ts'
import { COMPATIBILITY_CHARACTERS, DESCRIPTION_CHARACTERS } from './standard-fields.ts'

/** Our extension, which a server declares if it has the method below. Its settings are empty. */
export const OMITTED = 'dev.skillsyncd/omitted'

/** The method that lists the skills that `skills/list` leaves out, with the same form of entries and pages. */
export const OMITTED_LIST = 'dev.skillsyncd/omitted/list'

/** A field that makes some client refuse the entry of a skill, and with it all other entries of its page. */
interface EntryFault {
  readonly rule: SkillCode
  readonly message: string
}

/**
 * The faults of a frontmatter that keep the skill out of `skills/list`. The official client accepts a listing whole or
 * not at all. Listing another value instead of the refused one would not help: SEP-2640 makes hosts compare the
 * frontmatter of an entry with that of the file, and refuse the skill if they differ. `name` and `description` are
 * checked elsewhere, except for the whitespace around the latter.
 */
export function entryFaults(frontmatter: JsonObject): readonly EntryFault[] {
  return CHECKS.flatMap(({ rule, faultIn }) => {
    const why = faultIn(frontmatter)
    return why === undefined
      ? []
      : [{ rule, message: `${why}; clients refuse a list with such a skill, so skills/list leaves it out` }]
  })
}

/** True if every client accepts a listing with the frontmatter, and reads the same in the file. */
export function isTakenByAll(frontmatter: JsonObject, findings: readonly Pick<SkillDiagnostic, 'rule'>[]): boolean {
  return isYaml({ findings }) && CHECKS.every(({ faultIn }) => faultIn(frontmatter) === undefined)
}

/** False if a strict YAML reader reads something else from the file than its entry says, or nothing. */
export function isYaml({ findings }: { readonly findings: readonly Pick<SkillDiagnostic, 'rule'>[] }): boolean {
  return findings.every(({ rule }) => rule !== 'frontmatter-unquoted')
}

/** True if such faults were found when the skill was judged. */
export function hasEntryFault({ findings }: { readonly findings: readonly SkillDiagnostic[] }): boolean {
  return findings.some((finding) => CHECKS.some(({ rule }) => rule === finding.rule))
}

interface Check {
  readonly rule: SkillCode
  readonly faultIn: (frontmatter: JsonObject) => string | undefined
}

const CHECKS: readonly Check[] = [
  { rule: 'description-padded', faultIn: ({ description }) => paddingFault(description) },
  { rule: 'metadata-not-text', faultIn: ({ metadata }) => metadataFault(metadata) },
  { rule: 'compatibility-invalid', faultIn: ({ compatibility }) => compatibilityFault(compatibility) },
  {
    rule: 'field-refused',
    faultIn: (fields) => (hasPrototype(fields) ? 'A field is called "__proto__"' : undefined),
  },
]

function paddingFault(description: JsonValue | undefined): string | undefined {
  if (typeof description !== 'string' || fits(description, DESCRIPTION_CHARACTERS)) return undefined
  if (!fits(description.trim(), DESCRIPTION_CHARACTERS)) return undefined
  const characters = charactersIn(description)
  return `The description has ${characters} characters with the white space around it, over ${DESCRIPTION_CHARACTERS}`
}

function metadataFault(metadata: JsonValue | undefined): string | undefined {
  if (metadata === undefined) return undefined
  if (!isMapping(metadata)) return `metadata is ${kindOf(metadata)}, not a mapping of names to texts`
  const odd = Object.entries(metadata).find(([, value]) => typeof value !== 'string')
  return odd && `metadata.${odd[0]} is ${kindOf(odd[1])}, not text: quote it`
}

function compatibilityFault(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined
  const allowed = `1 to ${COMPATIBILITY_CHARACTERS} characters are allowed`
  if (value === null || value === '') return `compatibility is empty; ${allowed}`
  if (typeof value !== 'string') return `compatibility is ${kindOf(value)}, not text`
  if (fits(value, COMPATIBILITY_CHARACTERS)) return undefined
  return `compatibility has ${charactersIn(value)} characters; ${allowed}`
}

/**
 * True if a key is `__proto__`, which JSON readers take for the prototype: clients refuse the list for one at the top,
 * and the file for one below.
 */
function hasPrototype(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values<JsonValue>(value).some(hasPrototype)
}

/** Counts Unicode characters, of which none has more than two UTF-16 units. */
function fits(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && charactersIn(text) <= most)
}

function charactersIn(text: string): number {
  return Array.from(text).length
}

/** The kind of a value in words: `a list`, `a number`, `empty`. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value}`
}
