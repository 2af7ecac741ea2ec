import type { Finding } from '../skill-md/finding.ts'
import type { Authored } from './lint-input.ts'
import { bodyFlaws } from './body-rules.ts'
import { contractFlaws, hasBlock } from './contract-diagnostics.ts'
import { descriptionFlaws } from './description-rules.ts'
import { Elsewhere } from './other-skills.ts'
import { encodingFlaws } from './encoding-rules.ts'
import { fieldFlaws } from './field-rules.ts'
import { folderFlaws } from './folder-rules.ts'
import { linkFlaws } from './link-rules.ts'
import { topFolderFlaws } from './root-rules.ts'
import { referenceValidatorFlaws } from './reference-validator.ts'
import type { Flaw } from './diagnostic.ts'
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
