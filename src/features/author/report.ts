import { join } from 'node:path'
import type { BudgetSkill } from '../../sync/catalog/budget/budget-skill.ts'
import { budgetSummary } from '../../sync/catalog/budget/budget-summary.ts'
import type { BudgetSummary } from '../../sync/catalog/budget/budget-summary.ts'
import type { BudgetTerms } from '../../sync/catalog/budget/context-budget.ts'
import type { CodeDescription } from '../../sync/model/code-descriptions.ts'
import { withNeighbours } from './lint/cross-skill-rules.ts'
import type { LintDiagnostic, LintCode } from './lint/diagnostic.ts'
import type { Validation } from './lint/lint.ts'
import { describeCode } from './lint/rule-texts.ts'
import type { Root } from './roots.ts'

/** The diagnostics in all validated folders. */
export interface ValidationReport {
  readonly skills: readonly ReportedSkill[]
  readonly diagnostics: readonly ReportedDiagnostic[]
  readonly errors: number
  readonly warnings: number
  /** The listing of all skills together in agents. */
  readonly budget: BudgetSummary
}

export interface ReportedSkill {
  /** Its folder, relative to the working folder; `.` for that folder itself. */
  readonly path: string
  readonly name: string | undefined
  readonly errors: number
  readonly warnings: number
}

/** A diagnostic with the description of its code. */
export interface ReportedDiagnostic {
  readonly path: string
  /** Absolute. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: LintCode
  readonly description: CodeDescription
  readonly message: string
}

/** Combines the diagnostics in several folders into one report. `terms`: the clients of its context budget. */
export function reportOf(
  validated: readonly { readonly root: Root; readonly validation: Validation }[],
  terms: readonly BudgetTerms[] | undefined,
): ValidationReport {
  const named = validated.map(({ root, validation }) => ({ source: root.shown, validation }))
  const found = withNeighbours(named).flatMap((validation, index) => {
    const root = validated[index]?.root
    return root === undefined ? [] : [{ root, validation }]
  })
  const skills = found.flatMap(({ root, validation }) => validation.skills.map((skill) => skillOf(root, skill)))
  const diagnostics = found.flatMap(({ root, validation }) =>
    [...validation.diagnostics, ...validation.skills.flatMap(({ diagnostics }) => shownOf(diagnostics))].map(
      (diagnostic) => reportDiagnostic(root, diagnostic),
    ),
  )
  const listed = found.flatMap(({ root, validation }) => validation.skills.flatMap((skill) => listedOf(root, skill)))
  const budget = budgetSummary(listed, terms)
  return { skills, diagnostics, ...countSeverities(diagnostics.map(({ code }) => code)), budget }
}

function listedOf({ shown }: Root, { path, listed }: Validation['skills'][number]): BudgetSkill[] {
  return listed === undefined ? [] : [{ ...listed, id: join(shown, path) }]
}

function skillOf({ shown }: Root, { path, name, diagnostics }: Validation['skills'][number]): ReportedSkill {
  return { path: join(shown, path), name, ...countSeverities(shownOf(diagnostics).map(({ code }) => code)) }
}

function reportDiagnostic({ folder, shown }: Root, { path, place, code, message }: LintDiagnostic): ReportedDiagnostic {
  const { line, column } = place
  return {
    path: join(shown, path),
    file: join(folder, path),
    line,
    column,
    code,
    description: describeCode(code),
    message,
  }
}

function countSeverities(codes: readonly LintCode[]): { readonly errors: number; readonly warnings: number } {
  const errors = codes.filter((code) => describeCode(code).severity === 'error').length
  return { errors, warnings: codes.length - errors }
}

/**
 * The first few diagnostics of each code in a file: an author who corrects these corrects the rest, and no single file
 * makes the report endless.
 */
function shownOf(diagnostics: readonly LintDiagnostic[]): LintDiagnostic[] {
  const counts = new Map<string, number>()
  const keyOf = ({ code, path }: LintDiagnostic): string => `${code} ${path}`
  for (const diagnostic of diagnostics) counts.set(keyOf(diagnostic), (counts.get(keyOf(diagnostic)) ?? 0) + 1)
  const met = new Map<string, number>()
  return diagnostics.flatMap((diagnostic) => {
    const nth = (met.get(keyOf(diagnostic)) ?? 0) + 1
    met.set(keyOf(diagnostic), nth)
    const more = (counts.get(keyOf(diagnostic)) ?? 0) - MOST_OF_A_CODE
    if (nth > MOST_OF_A_CODE) return []
    return nth < MOST_OF_A_CODE || more <= 0
      ? [diagnostic]
      : [{ ...diagnostic, message: `${diagnostic.message} (and ${more} more in this file)` }]
  })
}

const MOST_OF_A_CODE = 20
