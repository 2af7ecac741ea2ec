/** A frontmatter in which quotes were added to text fields that YAML refuses without them. */
export interface Quoted {
  readonly yaml: string
  /** The fields, in their order in the text. */
  readonly fields: readonly string[]
}

/**
 * Quotes the top-level text fields of a frontmatter whose plain text contains the start of a mapping (`description: Use
 * when: …`): only the text up to the end of the line can be meant. Each line is judged alone, and a line that is valid
 * YAML stays. `undefined` if there is no such field.
 */
export function quoteFields(yaml: string): Quoted | undefined {
  const fields: string[] = []
  const lines = yaml.split('\n').map((line) => {
    const found = unquotedIn(line)
    if (found === undefined) return line
    fields.push(found.field)
    return `${found.field}: ${JSON.stringify(found.text)}`
  })
  return fields.length === 0 ? undefined : { yaml: lines.join('\n'), fields }
}

/** Matches a line whose plain text contains a colon before a blank or the end, ahead of any comment. */
function unquotedIn(line: string): { readonly field: string; readonly text: string } | undefined {
  const [, field, rest] = LINE.exec(line) ?? []
  if (field === undefined || rest === undefined || rest.includes('\r')) return undefined
  const [plain = ''] = rest.split(/[ \t]#/, 1)
  return /:(?:[ \t]|$)/.test(plain) ? { field, text: rest.trimEnd() } : undefined
}

/** A text field, a blank, and a character that begins no other form of YAML. */
const LINE = /^(description|license|compatibility|when_to_use):[ \t]+([^\s\-?:,[\]{}#&*!|>'"%@`].*?)\r?$/s
