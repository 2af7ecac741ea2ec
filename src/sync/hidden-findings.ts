import type { Finding } from './model/finding.ts'
import type { JsonObject, JsonValue } from './model/frontmatter.ts'
import { describeHidden, hiddenIn } from './model/hidden-unicode.ts'
import type { HiddenText } from './model/hidden-unicode.ts'

/** What is said of characters that nobody sees, wherever they stand: one finding, or none where there are none. */
export function hiddenFindings(path: string, what: string, hidden: HiddenText | undefined): Finding[] {
  if (hidden === undefined) return []
  const message = `${what} holds characters that nobody sees and a model reads: ${describeHidden(hidden)}`
  return [{ rule: 'hidden-unicode', path, message }]
}

/** What nobody sees in the values of a frontmatter, where escapes may spell it. */
export function hiddenInValues(frontmatter: JsonObject | undefined): HiddenText | undefined {
  return hiddenIn(textsOf(frontmatter).join('\n'))
}

/** Every text in the value, keys too. */
function textsOf(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return [...Object.keys(value), ...Object.values(value).flatMap(textsOf)]
}
