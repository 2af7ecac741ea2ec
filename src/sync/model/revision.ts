/** The id of a git object, lower-case hex: 40 digits, or 64 in a repository whose ids are SHA-256. */
export type ObjectId = string & { readonly [brand]: 'ObjectId' }

declare const brand: unique symbol

const SHAPE = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** The one check of the rule. Nothing else casts into `ObjectId`. */
export function isObjectId(text: string): text is ObjectId {
  return SHAPE.test(text)
}

/** What an operator can ask for: a branch, a tag, `refs/…`, a full commit id, a range of tags; undefined: the default branch. */
export type AskedRef = string | TagRange | undefined

/** The highest tag whose version lies in the range. */
export interface TagRange {
  /** A range of semantic versions, as npm writes them: `^2`, `>=1.4 <3`. */
  readonly range: string
  /** What stands before the version in the name of a tag. May be empty. */
  readonly prefix: string
  /** Whether versions such as 2.0.0-rc.1 count. */
  readonly prereleases: boolean
}

/** The hash that all ids of one repository are made with. */
export type ObjectFormat = 'sha1' | 'sha256'

export function formatOf(id: ObjectId): ObjectFormat {
  return id.length === 40 ? 'sha1' : 'sha256'
}

/** Whether the text is an id as a repository of this format has them. */
export function isIdOf(format: ObjectFormat, text: string): text is ObjectId {
  return isObjectId(text) && formatOf(text) === format
}

/** Where a ref pointed, once. */
export interface Revision {
  /** As the operator wrote it. */
  readonly asked: AskedRef
  /** What that came to: `refs/heads/main`, `refs/tags/v1`, the commit id where a commit was asked for, or `FOLDER_REF`. */
  readonly ref: string
  readonly commit: ObjectId
  /** The tag object, where the ref is an annotated tag. */
  readonly tag?: ObjectId
}

/** The ref of what was no repository but a folder, whose commit is made of its content alone. No ref of git is called so. */
export const FOLDER_REF = 'folder'

/** The same of what was the listing of an MCP server. */
export const LISTING_REF = 'listing'

/** Whether both lead to the same object by the same name. A tag that was made anew for the same commit is another. */
export function isSameRevision(a: Revision, b: Revision): boolean {
  return a.ref === b.ref && a.commit === b.commit && a.tag === b.tag
}

/** As a person would write it. */
export function askedText(asked: AskedRef): string {
  if (asked === undefined) return 'the default branch'
  if (typeof asked === 'string') return asked
  return `${asked.prefix}${asked.range}${asked.prereleases ? ' with pre-releases' : ''}`
}

export function isSameAsked(a: AskedRef, b: AskedRef): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b
  return a.range === b.range && a.prefix === b.prefix && a.prereleases === b.prereleases
}
