import { joinPath } from '../../base/paths.ts'
import type { Finding } from '../skill-md/finding.ts'
import { isSkillName } from '../skill-md/skill-name.ts'
import { bodyFlaws } from './body-rules.ts'
import { contractFlaws, hasBlock } from './contract-diagnostics.ts'
import type { Flaw } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { fieldFlaws } from './field-rules.ts'
import { folderFlaws } from './folder-rules.ts'
import { linkFlaws } from './link-rules.ts'
import type { Authored } from './lint-input.ts'
import { Elsewhere } from './other-skills.ts'
import { referenceValidatorFlaws } from './reference-validator.ts'
import { surveyFlaws } from './survey-diagnostics.ts'
import { yamlValueFlaws } from './yaml-rules.ts'

/** The strictness of the specification: its text, or its reference validator. */
export type Level = 'spec' | 'skills-ref'

/** The requirements on a skill. */
export interface Standard {
  readonly level: Level
  /** True if every skill must keep the frontmatter contract. */
  readonly contract: boolean
  /** The skills that are validated with it. */
  readonly elsewhere?: Elsewhere
}

/** All flaws for the skill's author, by file, from top to bottom. Never throws, whatever the skill contains. */
export function judge(
  skill: Authored,
  findings: readonly Finding[],
  { level, contract, elsewhere = NOWHERE }: Standard,
): Flaw[] {
  const flaws = [
    ...surveyFlaws(skill, notJudgedHere(skill, findings)),
    ...encodingFlaws(skill),
    ...contractFlaws(skill, contract),
    ...topFolderFlaws(skill),
    ...fieldFlaws(skill, contract || hasBlock(skill)),
    ...yamlValueFlaws(skill),
    ...descriptionFlaws(skill),
    ...bodyFlaws(skill),
    ...linkFlaws(skill, elsewhere),
    ...folderFlaws(skill),
    ...(level === 'skills-ref' ? referenceValidatorFlaws(skill) : []),
  ]
  return inOrder(flaws)
}

const NOWHERE = new Elsewhere([])

/** Drops findings of the survey that the rules here report in more detail, with data that the survey does not need. */
function notJudgedHere(skill: Authored, findings: readonly Finding[]): Finding[] {
  return findings.filter(({ rule }) => {
    if (rule === 'encoding-invalid') return skill.document?.fault === undefined
    return !hasBlock(skill) || !rule.startsWith('contract-')
  })
}

/** Sorts by path and place. */
export function inOrder(flaws: readonly Flaw[]): Flaw[] {
  return flaws.toSorted(
    (a, b) =>
      (a.path < b.path ? -1 : Number(a.path > b.path)) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  )
}

/** Checks that the whole SKILL.md is UTF-8: a survey decodes only the frontmatter. */
function encodingFlaws({ path, documentName, document }: Authored): Flaw[] {
  if (document?.fault === undefined) return []
  const { lines, fault } = document
  const message = `The file is not valid UTF-8: the byte 0x${fault.byte.toString(16).toUpperCase()} stands here in no character`
  return [{ rule: 'encoding-invalid', path: joinPath(path, documentName), place: lines.at(fault.offset), message }]
}

/** A survey allows any folder name for the skill at the top of a source; the specification does not. */
function topFolderFlaws({ path, folder, frontmatter, document, documentName }: Authored): Flaw[] {
  const name = frontmatter?.['name']
  if (path !== '' || folder === undefined || document === undefined) return []
  if (typeof name !== 'string' || !isSkillName(name) || name === folder) return []
  const message = `The name "${name}" is not the name of its folder "${folder}"`
  return [{ rule: 'name-unlike-folder', path: documentName, place: positionOf(document, ['name'], 'value'), message }]
}

/** Checks whether an agent can choose the skill by its description. */
function descriptionFlaws(skill: Authored): Flaw[] {
  const { document, frontmatter } = skill
  const description = frontmatter?.['description']
  if (document === undefined || typeof description !== 'string' || description.trim() === '') return []
  const at = { path: joinPath(skill.path, skill.documentName), place: positionOf(document, ['description'], 'value') }
  const characters = Array.from(description.trim()).length
  if (characters < FEWEST_CHARACTERS)
    return [{ rule: 'description-short', ...at, message: `The description has ${characters} characters` }]
  const trigger = frontmatter?.['when_to_use']
  if (saysWhen(description) || (typeof trigger === 'string' && trigger.trim() !== '')) return []
  return [
    { rule: 'description-no-when', ...at, message: 'The description says what the skill does and not when to use it' },
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
