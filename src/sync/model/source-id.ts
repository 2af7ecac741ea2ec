/** The name of a source, the first segment of its URIs: 1 to 64 of a-z, 0-9 and single inner hyphens. */
export type SourceId = string & { readonly [brand]: 'SourceId' }

declare const brand: unique symbol

const SHAPE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** The only check of the format. No other code casts to `SourceId`. */
export function isSourceId(text: string): text is SourceId {
  return text.length <= 64 && SHAPE.test(text)
}
