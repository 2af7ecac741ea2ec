/** A kind of text in a Markdown file that its rendered page does not show. The text is also its name in messages. */
export type UnrenderedKind = keyof typeof LEAST_CHARACTERS

/** Text of a Markdown file that its rendered page does not show. */
export interface Unrendered {
  readonly what: UnrenderedKind
  /** The offset in the text at which it begins. */
  readonly offset: number
  /** The line at which it begins, from 1. */
  readonly line: number
  readonly characters: number
}

/** True if the text is long enough to contain an instruction for a model. */
export function isTelling(what: UnrenderedKind, characters: number): boolean {
  return characters >= LEAST_CHARACTERS[what]
}

/**
 * Shorter texts serve tools and readers: a marker such as `prettier-ignore`, an address, a good alternative text of an
 * image.
 */
const LEAST_CHARACTERS = {
  comment: 40,
  'comment in the frontmatter': 40,
  'anchor in the frontmatter': 40,
  definition: 40,
  footnote: 40,
  'info string': 40,
  title: 40,
  address: 40,
  attribute: 80,
  'image text': 150,
  cells: 40,
  'text behind white space': 20,
  element: 40,
  'styled text': 40,
} as const
