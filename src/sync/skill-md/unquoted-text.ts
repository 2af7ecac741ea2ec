/** A text field that YAML refuses for want of quotes, and the frontmatter with quotes around it. */
export interface Quoted {
  readonly yaml: string
  /** The fields, in the order in which they stand. */
  readonly fields: readonly string[]
}

/**
 * Quotes the text fields at the top of a frontmatter whose plain text holds what opens a mapping (`description: Use when: …`): nothing
 * but the text up to the end of its line can be meant. Each line is judged by itself, and one that YAML takes stays. Undefined where
 * there is none.
 */
export function quoted(yaml: string): Quoted | undefined {
  const fields: string[] = []
  const lines = yaml.split('\n').map((line) => {
    const found = unquotedIn(line)
    if (found === undefined) return line
    fields.push(found.field)
    return `${found.field}: ${JSON.stringify(found.text)}`
  })
  return fields.length === 0 ? undefined : { yaml: lines.join('\n'), fields }
}

/** A line whose plain text holds a colon before a blank or the end, ahead of any comment. */
function unquotedIn(line: string): { readonly field: string; readonly text: string } | undefined {
  const [, field, rest] = LINE.exec(line) ?? []
  if (field === undefined || rest === undefined || rest.includes('\r')) return undefined
  const [plain = ''] = rest.split(/[ \t]#/, 1)
  return /:(?:[ \t]|$)/.test(plain) ? { field, text: rest.trimEnd() } : undefined
}

/** A field of text, a blank and what no other form of YAML begins with. */
const LINE = /^(description|license|compatibility|when_to_use):[ \t]+([^\s\-?:,[\]{}#&*!|>'"%@`].*?)\r?$/s
