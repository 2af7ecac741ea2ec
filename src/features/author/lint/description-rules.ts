import { joinPath } from '../../../base/paths.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import type { Authored } from './lint-input.ts'

/** Checks whether an agent can choose the skill by its description. */
export function descriptionDiagnostics(skill: Authored): LintDiagnostic[] {
  const { document, frontmatter } = skill
  const description = frontmatter?.['description']
  if (document === undefined || typeof description !== 'string' || description.trim() === '') return []
  const at = { path: joinPath(skill.path, skill.documentName), place: positionOf(document, ['description'], 'value') }
  const characters = Array.from(description.trim()).length
  if (characters < FEWEST_CHARACTERS)
    return [{ code: 'description-short', ...at, message: `The description has ${characters} characters` }]
  const trigger = frontmatter?.['when_to_use']
  if (saysWhen(description) || (typeof trigger === 'string' && trigger.trim() !== '')) return []
  return [
    { code: 'description-no-when', ...at, message: 'The description says what the skill does, but not when to use it' },
  ]
}

/** No author says what and when in fewer. */
const FEWEST_CHARACTERS = 30

/** A text in another script than Latin is not judged: these words are mostly English, like nearly all descriptions. */
function saysWhen(description: string): boolean {
  const letters = description.match(/\p{L}/gu)?.length ?? 0
  const latin = description.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 < letters || WHEN.test(description)
}

/** Words that introduce an occasion. One is enough: missing a bad description is better than blaming a good one. */
const WHEN =
  /\b(?:when|whenever|while|use|uses|used|useful|using|for|if|before|after|during|upon|once|asks?|asked|asking|mentions?|needs?|needed|wants?|requests?|requires?|triggers?|triggered|invoke[ds]?|trigger(?:ing)?|activat(?:es?|ed|ing)|helps?|cu[aá]ndo|quand|wenn|quando|para|pour|für)\b/iu
