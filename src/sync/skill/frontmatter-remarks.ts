import { isMap, isScalar } from 'yaml'
import type { Document } from 'yaml'
import { FIRST_LINE } from './frontmatter-fields.ts'
import type { FieldPlace } from './frontmatter-fields.ts'
import { PROSE_FIELDS } from './standard-fields.ts'

/**
 * A field that its author meant as text, and of which YAML reads a part, another type, or nothing: without a space behind
 * the colon, the text belongs to the name of the field.
 */
export interface Remark extends FieldPlace {
  /** The comment that ends the text, with its column in its line; `undefined` if the value is no text. */
  readonly cut?: { readonly line: number; readonly column: number; readonly comment: string }
}

/** The part of a reading that has them. */
export interface Remarks {
  readonly remarks?: readonly Remark[]
}

/** The lines whose text a comment ends, of which a finding says so. */
export function cutLinesOf({ remarks = [] }: Remarks = {}): readonly number[] {
  return remarks.flatMap(({ cut }) => cut?.line ?? [])
}

/** The remarks on the fields of prose and on the name, of a valid frontmatter; `undefined` if there are none. */
export function remarksOn({ contents }: Document, yaml: string): Remarks | undefined {
  if (!isMap(contents)) return undefined
  const remarks = contents.items.flatMap(({ key, value }): Remark[] => {
    if (!isScalar(key) || typeof key.value !== 'string' || !key.range) return []
    const { line } = placeAt(yaml, key.range[0])
    const unspaced = /^(name|description):/.exec(key.value)?.[1]
    if (unspaced !== undefined) return [{ field: unspaced, line }]
    const [field, at] = [key.value, { field: key.value, line }]
    if (!PROSE_FIELDS.has(field)) return field === 'name' && !isText(value) ? [at] : []
    // After a license, authors do write comments.
    if (
      field !== 'license' &&
      isScalar(value) &&
      value.type === 'PLAIN' &&
      typeof value.comment === 'string' &&
      value.range
    ) {
      const cut = placeAt(yaml, yaml.indexOf('#', value.range[1]))
      return [{ ...at, cut: { ...cut, comment: value.comment.split('\n', 1).join('').trimEnd() } }]
    }
    return isText(value) ? [] : [at]
  })
  return remarks.length === 0 ? undefined : { remarks }
}

function isText(value: unknown): boolean {
  return isScalar(value) && typeof value.value === 'string'
}

function placeAt(yaml: string, offset: number): { readonly line: number; readonly column: number } {
  const before = yaml.slice(0, offset).split('\n')
  return { line: FIRST_LINE + before.length - 1, column: (before.at(-1)?.length ?? 0) + 1 }
}
