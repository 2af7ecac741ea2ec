import type { Finding } from './model/finding.ts'
import type { JsonObject, JsonValue } from './model/frontmatter.ts'
import { describeHidden, hiddenIn } from './model/hidden-unicode.ts'
import type { HiddenText } from './model/hidden-unicode.ts'

/** Where in a file characters stand that nobody sees. */
type HidingPlace = keyof typeof WHERE

const WHERE = { text: 'The file', values: 'The frontmatter, by escapes,', name: 'The name of the file' } as const

/** What is said of characters that nobody sees, wherever they stand: one finding, or none where there are none. */
export function hiddenFindings(path: string, where: HidingPlace, hidden: HiddenText | undefined): Finding[] {
  if (hidden === undefined) return []
  const message = `${WHERE[where]} holds characters that nobody sees and a model reads: ${describeHidden(hidden)}`
  return [{ rule: 'hidden-unicode', path, message }]
}

/** Whether a finding is of the text itself. */
export function isOfHiddenText({ rule, message }: Finding): boolean {
  return rule === 'hidden-unicode' && message.startsWith(`${WHERE.text} holds `)
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
