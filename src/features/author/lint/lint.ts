import { foldersAbove, joinPath } from '../../../base/paths.ts'
import { budgetSkillOf } from '../../../sync/catalog/budget/budget-skill.ts'
import type { BudgetSkill } from '../../../sync/catalog/budget/budget-skill.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Tree } from '../../../sync/model/tree.ts'
import type { SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import type { Rules } from '../../../sync/survey/survey-rules.ts'
import { survey } from '../../../sync/survey/survey.ts'
import { AuthoredReader } from './authored-reader.ts'
import { contractDeclarationOf, namedDeclarationOf } from './contract-rules.ts'
import type { Declaration } from './contract-rules.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { START } from './lines.ts'
import type { Authored } from './lint-input.ts'
import { judge, inOrder } from './lint-skill.ts'
import type { Level } from './lint-skill.ts'
import { officialDiagnostics, type OfficialReader } from './official-diagnostics.ts'
import { OtherSkills } from './other-skills.ts'
import { describeCode } from './rule-texts.ts'

/** A validated skill, with its diagnostics. */
export interface Judged {
  /** Its folder, from the top of the tree. */
  readonly path: string
  /** `undefined` if it declares none. */
  readonly name: string | undefined
  readonly diagnostics: readonly LintDiagnostic[]
  /** `undefined` for a skill that does not keep the contract. */
  readonly declared: Declaration | undefined
  /** As clients list it; `undefined` if they do not. */
  readonly listed: BudgetSkill | undefined
  /** The skills that its `metadata` depends on; `undefined` if it has no name. */
  readonly needs: Declaration | undefined
}

/** The result for the skills of one folder. */
export interface Validation {
  readonly skills: readonly Judged[]
  /** Diagnostics that belong to no skill. */
  readonly diagnostics: readonly LintDiagnostic[]
}

/** The settings of a validation. */
export interface Validating {
  readonly rules: Rules
  readonly level: Level
  /** The name of the folder at the top; `undefined` if its author did not choose it. */
  readonly folder: string | undefined
  /** If absent, the official client's reading is not checked. */
  readonly readOfficially?: OfficialReader
}

/**
 * Surveys the tree like that of a source. Reports the survey's findings for each skill, and faults that only its author
 * can fix.
 */
export async function validate(tree: Tree, validating: Validating, signal: AbortSignal): Promise<Validation> {
  const { skills, findings, taken } = await survey(tree, validating.rules, undefined, signal)
  const reader = new AuthoredReader(tree, taken, { skills, ...validating })
  const { level, rules } = validating
  const contract = rules.selection.contract === true
  const standard = { level, contract, elsewhere: new OtherSkills(skills) }
  const folders = new Set(skills.map(({ path }) => path))
  const judged: Judged[] = []
  for (const skill of skills) {
    signal.throwIfAborted()
    const authored = await reader.read(skill)
    const findings = [...skill.findings, ...nestedIn(skill, folders)]
    judged.push({
      path: skill.path,
      name: skill.name,
      diagnostics: inOrder([
        ...withReason(skill, judge(authored, findings, standard)),
        ...(await ofClient(authored, validating)),
      ]),
      declared: contractDeclarationOf(authored, contract),
      listed: budgetSkillOf(skill, skill.path),
      needs: namedDeclarationOf(authored),
    })
  }
  return {
    skills: judged,
    diagnostics: inOrder(findings.map(({ rule: code, path, message }) => ({ code, path, place: START, message }))),
  }
}

/** Adds an error if a source would withhold the skill for something that is otherwise only a warning. */
function withReason(
  { path, standing, findings }: Skill,
  diagnostics: readonly LintDiagnostic[],
): readonly LintDiagnostic[] {
  if (standing !== 'withheld' || diagnostics.some(({ code }) => describeCode(code).severity === 'error'))
    return diagnostics
  const codes = [...new Set(findings.map(({ rule }) => rule))].join(', ')
  const message = `A source withholds the skill by default: ${codes}`
  return [{ code: 'withheld-by-default', path: joinPath(path, 'SKILL.md'), place: START, message }, ...diagnostics]
}

async function ofClient(authored: Authored, { readOfficially }: Validating): Promise<readonly LintDiagnostic[]> {
  return readOfficially === undefined ? [] : officialDiagnostics(authored, readOfficially)
}

/**
 * A survey accepts a skill inside a skill, unless the source is configured otherwise. Its author gets the finding in
 * both cases.
 */
function nestedIn({ path, findings }: Skill, folders: ReadonlySet<string>): SkillDiagnostic[] {
  const outer = [...foldersAbove(path)].find((above) => folders.has(above))
  if (outer === undefined || findings.some(({ rule }) => rule === 'nested-skill')) return []
  const where = outer === '' ? 'at the top' : `in "${outer}"`
  const message = `The skill is inside the skill ${where}: some clients do not find it there, and its files are served twice`
  return [{ rule: 'nested-skill', path, message }]
}
