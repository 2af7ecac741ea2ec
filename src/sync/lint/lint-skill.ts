import { joinPath } from '../../base/paths.ts'
import type { Finding } from '../skill-md/skill-diagnostic.ts'
import { isSkillName } from '../skill-md/skill-name.ts'
import { bodyFlaws } from './body-rules.ts'
import { contractFlaws, hasBlock } from './contract-rules.ts'
import { descriptionFlaws } from './description-rules.ts'
import type { Flaw } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { folderFlaws } from './folder-rules.ts'
import { linkFlaws } from './link-rules.ts'
import type { Authored } from './lint-input.ts'
import { fieldFlaws } from './optional-field-rules.ts'
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
