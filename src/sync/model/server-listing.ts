import { countOf } from '../../base/text/plural.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import type { ListingForm } from './listing-form.ts'

/** An enumeration, and how it may be kept. */
export interface ServerListing extends Enumeration {
  /** For how long it is of no use to ask again. */
  readonly ttlMs: number
  readonly isPrivate: boolean
}

/** The numbers of items that a server offers and a listing does not take. */
export interface Offers {
  /** URI templates of skills, which `resolve` fills in. */
  readonly templates: number
  /** Skills that are offered only as archives, while these are ignored. */
  readonly archives: number
}

/** The texts of an offer: the items, and the command or the key that takes them. `source`: the id of the server here. */
export function offerTexts(source: string, { templates, archives }: Offers): readonly string[] {
  return [
    ...(templates === 0 ? [] : [`${countOf(templates, 'template')}: skillsyncd mcp-source add ${source}`]),
    ...(archives === 0 ? [] : [`${countOf(archives, 'skill')} only as archives: packed: read takes them`]),
  ]
}

/** The enumerated entries, and the form that they come from. */
export interface Enumeration {
  readonly form: ListingForm
  /** Entries of `skills/list` as received, or made from an older form; null for an entry that is nested too deep. */
  readonly entries: readonly unknown[]
  /** Findings of skills that gave no entry. */
  readonly findings: readonly SkillDiagnostic[]
  /** The URIs of entries without declared digests: their files count as they were at the first read. */
  readonly firstRead: ReadonlySet<string>
  /** The URIs of those of them whose SKILL.md has the digest that the server declares for it alone. */
  readonly proved: ReadonlySet<string>
  /** The URIs of those of them that the server calls dynamic. */
  readonly dynamic: ReadonlySet<string>
  /** By the URIs of entries whose files came in an archive, and are asked for in no other way: that of the archive. */
  readonly packed: ReadonlyMap<string, string>
  /** `undefined` if there is nothing else. */
  readonly offers: Offers | undefined
}
