/** The name of a source, the first segment of its URIs: 1 to 64 of a-z, 0-9 and single inner hyphens. */
export type SourceId = string & { readonly [brand]: 'SourceId' }

declare const brand: unique symbol

const SHAPE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** The only check of the format. No other code casts to `SourceId`. */
export function isSourceId(text: string): text is SourceId {
  return text.length <= 64 && SHAPE.test(text)
}

/** True if the text can be the id of a pack. The rule is that of source ids. */
export function isPackId(text: string): boolean {
  return isSourceId(text)
}
