/**
 * Reads a YAML mapping whose lines are all of the form `name: text`, with a plain text or one in quotes without escapes.
 * `undefined` for any other text, which may still be YAML. Gives what the YAML reader gives, in a tenth of its time: most
 * skills have such a frontmatter.
 */
export function plainMapping(yaml: string): Record<string, string> | undefined {
  if (yaml.length > MOST_CHARACTERS) return undefined
  const fields = new Map<string, string>()
  const line = new RegExp(LINE)
  while (line.lastIndex < yaml.length) {
    const { name, double, single, plain } = line.exec(yaml)?.groups ?? {}
    const text = double ?? single ?? plain
    if (name === undefined || text === undefined || fields.has(name) || fields.size === MOST_FIELDS) return undefined
    if (isKeyword(name) || (text === plain && isKeyword(text))) return undefined
    fields.set(name, text)
  }
  return fields.size === 0 ? undefined : Object.fromEntries(fields)
}

/** Longer than almost every frontmatter, and far below what the stack of a regular expression takes. */
const MOST_CHARACTERS = 16_384
/** More are left to the YAML reader, which has limits of its own. */
const MOST_FIELDS = 64

/** YAML reads these words as values of other types. */
function isKeyword(text: string): boolean {
  return /^(?:null|true|false)$/i.test(text)
}

/**
 * One line. A plain text begins with a letter and has no `: `, no ` #` and no `:` at its end. No text has a
 * control character, so it ends with its line.
 */
const LINE =
  /(?<name>[A-Za-z][A-Za-z0-9_-]{0,63}): +(?:"(?<double>[^"\\\p{Cc}]*)"|'(?<single>[^'\p{Cc}]*)'|(?<plain>[A-Za-z](?: *(?:[^ \p{Cc}:#]|:(?![ \n]|$)|(?<! )#))*)) *(?:\n|$)/uy
