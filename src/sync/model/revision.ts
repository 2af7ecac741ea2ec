/** The id of a git object, lower-case hex: 40 digits, or 64 in a repository whose ids are SHA-256. */
export type ObjectId = string & { readonly [brand]: 'ObjectId' }

declare const brand: unique symbol

const SHAPE = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** The one check of the rule. Nothing else casts into `ObjectId`. */
export function isObjectId(text: string): text is ObjectId {
  return SHAPE.test(text)
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
  /** The ref as the operator wrote it; undefined for the default branch. */
  readonly asked: string | undefined
  /** What that came to: `refs/heads/main`, `refs/tags/v1`, or the commit id where a commit was asked for. */
  readonly ref: string
  readonly commit: ObjectId
  /** The tag object, where the ref is an annotated tag. */
  readonly tag?: ObjectId
}
