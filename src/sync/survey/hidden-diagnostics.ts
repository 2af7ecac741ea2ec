import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { describeHidden, hiddenIn } from '../skill/hidden-unicode.ts'
import type { HiddenPolicy, HiddenText } from '../skill/hidden-unicode.ts'
import { diagnosticAbout } from '../skill/skill-diagnostic.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'

/** A place that may contain invisible characters. */
export interface HidingPlace {
  /** The path of the file, or of the skill's folder. */
  readonly path: string
  readonly where: keyof typeof WHERE
  readonly hidden: HiddenText | undefined
}

const WHERE = {
  text: 'The file',
  'text besides': 'The file',
  values: 'The frontmatter, by escapes,',
  escapes: 'The file, by escapes of YAML,',
  'escapes besides': 'The file, by escapes of YAML,',
  name: 'The name of the file',
  folder: 'The path of the folder',
} as const

/** The findings for invisible characters in all places, and the decision to withhold their holder. */
export function judgeHidden(
  places: readonly HidingPlace[],
  policy: HiddenPolicy,
): { readonly isWithheld: boolean; readonly findings: readonly SkillDiagnostic[] } {
  const hiding = places.flatMap(({ hidden, ...place }) => (hidden === undefined ? [] : [{ hidden, ...place }]))
  // There may be hundreds, of which some are reported: those that decide come first.
  const first = hiding.length > MOST_HIDDEN ? hiding.toSorted((a, b) => +isDeceit(b) - +isDeceit(a)) : hiding
  return {
    isWithheld: policy === 'withhold' ? hiding.length > 0 : policy === 'deceptive' && hiding.some(isDeceit),
    findings: firstDiagnostics(first.map(findingOf), MOST_HIDDEN, (left, { path }) => {
      return { path, message: `${left} more such findings are left out` }
    }),
  }
}

type Hiding = { readonly [Key in keyof HidingPlace]: NonNullable<HidingPlace[Key]> }

/**
 * A file other than SKILL.md may describe such characters, or be a program or a recording that contains them. There
 * only smuggled text decides, which no file needs.
 */
function isDeceit({ where, hidden: { deceit } }: Hiding): boolean {
  return deceit === 'smuggled' || (deceit === 'disguised' && !where.endsWith(' besides'))
}

/** A skill may have hundreds of files. */
const MOST_HIDDEN = 16

function findingOf({ path, where, hidden }: Hiding): SkillDiagnostic {
  const message = `${WHERE[where]} holds characters that ${KINDS[hidden.deceit ?? 'unseen']}: ${describeHidden(hidden)}`
  const finding: SkillDiagnostic = { rule: 'hidden-unicode', path, message }
  return where === 'text' || where === 'text besides' ? diagnosticAbout({ kind: 'text' }, finding) : finding
}

const KINDS = {
  smuggled: 'spell out what people do not see and a model reads',
  disguised: 'reorder or conceal what a model reads',
  unseen: 'people do not see and a model reads',
} as const

/** The invisible characters in the values of a frontmatter, which escapes can spell. */
export function hiddenInValues(frontmatter: JsonObject | undefined): HiddenText | undefined {
  return hiddenIn(textsInValue(frontmatter).join('\n'))
}

/** The hidden text of the values, if it adds to that of the file's text. */
export function hiddenBesides(
  inText: HiddenText | undefined,
  inValues: HiddenText | undefined,
): HiddenText | undefined {
  const isSaid = inText !== undefined && (inText.deceit === 'smuggled' || inValues?.deceit === undefined)
  return isSaid ? undefined : inValues
}

/** Every text in the value, including keys. */
export function textsInValue(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return [...Object.keys(value), ...Object.values(value).flatMap(textsInValue)]
}
