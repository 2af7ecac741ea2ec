/** The id of a git object, lower-case hex: 40 digits, or 64 in a repository whose ids are SHA-256. */
export type ObjectId = string & { readonly [brand]: 'ObjectId' }

declare const brand: unique symbol

const SHAPE = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** The only check of the format. No other code casts to `ObjectId`. */
export function isObjectId(text: string): text is ObjectId {
  return SHAPE.test(text)
}

/**
 * A ref in the configuration: a branch, a tag, `refs/…`, a full commit id or a range of tags; `undefined`: the default
 * branch.
 */
export type AskedRef = string | TagRange | undefined

/** Selects the highest tag whose version is in the range. */
export interface TagRange {
  /** A range of semantic versions in npm's syntax: `^2`, `>=1.4 <3`. */
  readonly range: string
  /** The text before the version in the name of a tag. May be empty. */
  readonly prefix: string
  /** True if versions such as 2.0.0-rc.1 count. */
  readonly prereleases: boolean
}

/** The hash function of all ids in one repository. */
export type ObjectFormat = 'sha1' | 'sha256'

export function formatOf(id: ObjectId): ObjectFormat {
  return id.length === 40 ? 'sha1' : 'sha256'
}

/** True if the text is an id in this format. */
export function isIdOf(format: ObjectFormat, text: string): text is ObjectId {
  return isObjectId(text) && formatOf(text) === format
}

/** The target of a ref at one moment. */
export interface Revision {
  /** As the operator wrote it. */
  readonly asked: AskedRef
  /**
   * The resolved ref: `refs/heads/main`, `refs/tags/v1`, the commit id if a commit was requested, `FOLDER_REF`,
   * `LISTING_REF` or `CHANNEL_REF`.
   */
  readonly ref: string
  readonly commit: ObjectId
  /** The tag object, if the ref is an annotated tag. */
  readonly tag?: ObjectId
}

/** The ref of a plain folder, whose commit is made from its content alone. No git ref has this name. */
export const FOLDER_REF = 'folder'

/** The ref of an MCP server's listing. */
export const LISTING_REF = 'listing'

/** The ref of the channel of another hub. Its commit is the SHA-256 of the object that the newest entry of its log names. */
export const CHANNEL_REF = 'channel'

/** True if both have the same ref, commit and tag object. A tag that was created anew for the same commit differs. */
export function isSameRevision(a: Revision, b: Revision): boolean {
  return a.ref === b.ref && a.commit === b.commit && a.tag === b.tag
}

/** The ref as a person would write it. */
export function askedText(asked: AskedRef): string {
  if (asked === undefined) return 'the default branch'
  if (typeof asked === 'string') return asked
  return `${asked.prefix}${asked.range}${asked.prereleases ? ' with pre-releases' : ''}`
}

export function isSameAsked(a: AskedRef, b: AskedRef): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b
  return a.range === b.range && a.prefix === b.prefix && a.prereleases === b.prereleases
}
