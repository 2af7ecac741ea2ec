import type { Finding } from '../skill-md/finding.ts'
import type { ListingForm } from './listing-form.ts'

/** An enumeration, and how it may be kept. */
export interface ServerListing extends Enumeration {
  /** For how long it is of no use to ask again. */
  readonly ttlMs: number
  readonly isPrivate: boolean
}

/** What was enumerated, and what it was learnt from. */
export interface Enumeration {
  readonly form: ListingForm
  /** As `skills/list` has them: as they came, null for one that is nested too deep, or made of what an older form says. */
  readonly entries: readonly unknown[]
  /** Of what no entry could be made of. */
  readonly findings: readonly Finding[]
  /** The URIs of entries whose files nobody promised: they are what they were when they were read. */
  readonly firstRead: ReadonlySet<string>
  /** The URIs of those of them that the server calls dynamic. */
  readonly dynamic: ReadonlySet<string>
  /** By the URIs of entries whose files came in an archive, and are asked for in no other way: that of the archive. */
  readonly packed: ReadonlyMap<string, string>
}
