import { joinPath } from '../../../base/paths.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { isSkillName } from '../../../sync/skill/skill-name.ts'
import { bodyDiagnostics } from './body-rules.ts'
import { contractLintDiagnostics, hasBlock } from './contract-rules.ts'
import { descriptionDiagnostics } from './description-rules.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'
import { folderDiagnostics } from './folder-rules.ts'
import { linkDiagnostics } from './link-rules.ts'
import type { Authored } from './lint-input.ts'
import { fieldDiagnostics } from './optional-field-rules.ts'
import { OtherSkills } from './other-skills.ts'
import { referenceValidatorDiagnostics } from './reference-validator.ts'
import { surveyDiagnostics } from './survey-diagnostics.ts'
import { yamlValueDiagnostics } from './yaml-rules.ts'

/** The strictness of the specification: its text, or its reference validator. */
export type Level = 'spec' | 'skills-ref'

/** The requirements on a skill. */
export interface Standard {
  readonly level: Level
  /** True if every skill must keep the frontmatter contract. */
  readonly contract: boolean
  /** The skills that are validated with it. */
  readonly elsewhere?: OtherSkills
}

/** All diagnostics for the skill's author, by file, from top to bottom. Never throws, whatever the skill contains. */
export function judge(
  skill: Authored,
  findings: readonly SkillDiagnostic[],
  { level, contract, elsewhere = NOWHERE }: Standard,
): LintDiagnostic[] {
  const diagnostics = [
    ...surveyDiagnostics(skill, notJudgedHere(skill, findings)),
    ...(findings.some(({ rule }) => rule === 'encoding-invalid') ? [] : encodingDiagnostics(skill)),
    ...contractLintDiagnostics(skill, contract),
    ...topFolderDiagnostics(skill),
    ...fieldDiagnostics(skill, contract || hasBlock(skill)),
    ...yamlValueDiagnostics(skill),
    ...descriptionDiagnostics(skill),
    ...bodyDiagnostics(skill),
    ...linkDiagnostics(skill, elsewhere),
    ...folderDiagnostics(skill),
    ...(level === 'skills-ref' ? referenceValidatorDiagnostics(skill) : []),
  ]
  return inOrder(diagnostics)
}

const NOWHERE = new OtherSkills([])

/** Drops findings of the survey that the rules here report in more detail, with data that the survey does not need. */
function notJudgedHere(skill: Authored, findings: readonly SkillDiagnostic[]): SkillDiagnostic[] {
  return hasBlock(skill) ? findings.filter(({ rule }) => !rule.startsWith('contract-')) : [...findings]
}

/** Sorts by path and place. */
export function inOrder(diagnostics: readonly LintDiagnostic[]): LintDiagnostic[] {
  return diagnostics.toSorted(
    (a, b) =>
      (a.path < b.path ? -1 : Number(a.path > b.path)) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  )
}

/** Checks that the rest of SKILL.md is UTF-8: a survey decodes only the frontmatter. */
function encodingDiagnostics({ path, documentName, document }: Authored): LintDiagnostic[] {
  if (document?.fault === undefined) return []
  const { lines, fault } = document
  const message = `The file is not valid UTF-8: the byte 0x${fault.byte.toString(16).toUpperCase()} here is not part of a character`
  return [{ code: 'encoding-invalid', path: joinPath(path, documentName), place: lines.at(fault.offset), message }]
}

/** A survey allows any folder name for the skill at the top of a source; the specification does not. */
function topFolderDiagnostics({ path, folder, frontmatter, document, documentName }: Authored): LintDiagnostic[] {
  const name = frontmatter?.['name']
  if (path !== '' || folder === undefined || document === undefined) return []
  if (typeof name !== 'string' || !isSkillName(name) || name === folder) return []
  const message = `The name "${name}" is not the name of its folder "${folder}"`
  return [{ code: 'name-unlike-folder', path: documentName, place: positionOf(document, ['name'], 'value'), message }]
}
