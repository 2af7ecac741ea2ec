import { FIRST_LINE, fieldsIn, isIndentedField } from './frontmatter-fields.ts'
import type { FieldLines, FieldPlace } from './frontmatter-fields.ts'
import { PROSE_FIELDS } from './standard-fields.ts'
import { isUnclosed } from './yaml-fault.ts'
import type { FaultIn } from './yaml-fault.ts'

/** A frontmatter in which quotes were added to texts that YAML refuses without them. */
export interface Quoted {
  readonly yaml: string
  /** In their order in the text. `last`: the last line of the value. */
  readonly fields: readonly (FieldPlace & { readonly last: number })[]
}

/**
 * Quotes the text of each top-level field that YAML refuses by itself, as agents that read line by line take it
 * (`description: Use when: …`, `argument-hint: [a] [b]`): up to the end of the line, and for prose of the indented lines
 * below. Each field is judged alone, and one that is valid YAML stays. The lines keep their numbers. `undefined` if
 * there is no such field.
 */
export function quoteFields(yaml: string, faultIn: FaultIn): Quoted | undefined {
  const all = fieldsIn(yaml)
  if (all.length > MOST_FIELDS) return undefined
  const found = all.filter((each) => isMeantAsText(each, faultIn))
  if (found.length === 0) return undefined
  const lines = yaml.split('\n')
  for (const { line, key, first, below, yaml: own } of found) {
    const text = [first, ...below.map((each) => each.trim())].join(' ')
    const count = own.split('\n').length
    const blank = Array.from({ length: count - 1 }, () => '')
    lines.splice(line - FIRST_LINE, count, `${key} ${JSON.stringify(text)}`, ...blank)
  }
  return { yaml: lines.join('\n'), fields: found.map(placeOf) }
}

function placeOf({ field = '', line, below }: FieldLines): Quoted['fields'][number] {
  return { field, line, last: line + below.length }
}

/** Each is parsed by itself. No public skill has a fifth of them. */
export const MOST_FIELDS = 64

function isMeantAsText(lines: FieldLines, faultIn: FaultIn): boolean {
  const { field, first, below, yaml } = lines
  if (field === undefined || first === '' || first.includes('\r')) return false
  const isText = below.length === 0 || (PROSE_FIELDS.has(field) && !/^[|>]/.test(first) && below.every(isProse))
  if (!isText || /^!!\w/.test(first)) return false
  const fault = faultIn(yaml)
  if (fault === undefined || fault.code === 'BAD_DQ_ESCAPE') return false
  // A reader may act on a tag (`!secret`, `{ a: !!binary … }`). In prose, `!important` is a word.
  if (fault.code === 'TAG_RESOLVE_FAILED' && !PROSE_FIELDS.has(field)) return false
  return !isUnclosed(yaml, fault)
}

function isProse(line: string): boolean {
  return /^[ \t]+[^\s#][^\r]*$/.test(line) && !isIndentedField(line)
}
