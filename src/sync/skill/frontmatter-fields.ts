import { AGENT_SKILLS_FIELDS, CLAUDE_CODE_FIELDS } from './standard-fields.ts'

/** The lines of one field at the top of a frontmatter, as a reader of lines sees them. */
export interface FieldLines {
  /** `undefined` for lines that begin no field. */
  readonly field: string | undefined
  /** The line of SKILL.md, from 1: the frontmatter begins at the second. */
  readonly line: number
  /** The name and the colon, as they are written. */
  readonly key: string
  /** The rest of the first line. */
  readonly first: string
  /** The lines below it that belong to the field, without blank ones and comments at the end. */
  readonly below: readonly string[]
  /** All of it. */
  readonly yaml: string
}

/** A field of a frontmatter, with its line in SKILL.md. */
export interface FieldPlace {
  readonly field: string
  readonly line: number
}

/** Splits a frontmatter. Every line belongs to the field above it if it is indented, blank, a comment or a list entry. */
export function fieldsIn(yaml: string): FieldLines[] {
  const lines = yaml.split('\n')
  const starts = lines.flatMap((line, at) => (BEGINNING.test(line) ? [at] : []))
  return starts.map((start, index) => {
    const [head = '', ...rest] = lines.slice(start, starts[index + 1])
    const found = (FIELD.exec(head) ?? UNSPACED.exec(head))?.groups
    const below = rest.slice(0, rest.findLastIndex((line) => /^[ \t]*[^\s#]/.test(line)) + 1)
    const name = found?.['name']?.trimEnd()
    return {
      field: name,
      line: start + FIRST_LINE,
      key: found?.['key'] ?? '',
      first: found?.['first'] ?? head.trimEnd(),
      below: below.map((line) => line.replace(/\r$/, '')),
      yaml: [head, ...rest].join('\n'),
    }
  })
}

/** The line of SKILL.md where its frontmatter begins. */
export const FIRST_LINE = 2

const BEGINNING = /^(?![ \t\r#]|-(?:[ \t\r]|$))[^]/

/** A plain or quoted name, a colon, and a blank or the end of the line. */
const FIELD =
  /^(?<key>(?<quote>["']?)(?<name>[A-Za-z_][\w .-]{0,63})\k<quote>[ \t]*:)(?:[ \t]+|(?=\r?$))(?<first>[^]*?)\s*$/

/** True for an indented line that begins a field which every frontmatter has at its margin. */
export function isIndentedField(line: string): boolean {
  return INDENTED.test(line)
}

const INDENTED = new RegExp(
  `^[ \\t]+(?:version|author|tags|${[...AGENT_SKILLS_FIELDS, ...CLAUDE_CODE_FIELDS].join('|')}):(?:\\s|$)`,
)

/** A known name without the blank after its colon: readers of lines do not miss it. */
const UNSPACED = new RegExp(
  `^(?<key>(?<name>${[...AGENT_SKILLS_FIELDS, ...CLAUDE_CODE_FIELDS].join('|')}):)(?<first>\\S[^]*?)\\s*$`,
)
