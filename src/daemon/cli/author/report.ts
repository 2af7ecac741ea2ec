import { join } from 'node:path'
import { withNeighbours } from '../../../sync/lint/cross-skill-rules.ts'
import type { Flaw, Rule, RuleSheet } from '../../../sync/lint/diagnostic.ts'
import type { Validation } from '../../../sync/lint/lint.ts'
import { sheetOf } from '../../../sync/lint/rule-texts.ts'
import type { Root } from './roots.ts'

/** The findings in all validated folders. */
export interface ValidationReport {
  readonly skills: readonly ReportedSkill[]
  readonly findings: readonly Reported[]
  readonly errors: number
  readonly warnings: number
}

export interface ReportedSkill {
  /** Its folder, relative to the working folder; `.` for that folder itself. */
  readonly path: string
  readonly name: string | undefined
  readonly errors: number
  readonly warnings: number
}

export interface Reported {
  readonly path: string
  /** Absolute. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly rule: Rule
  readonly sheet: RuleSheet
  readonly message: string
}

/** Combines the findings in several folders into one report. */
export function reportOf(
  validated: readonly { readonly root: Root; readonly validation: Validation }[],
): ValidationReport {
  const named = validated.map(({ root, validation }) => ({ source: root.shown, validation }))
  const found = withNeighbours(named).flatMap((validation, index) => {
    const root = validated[index]?.root
    return root === undefined ? [] : [{ root, validation }]
  })
  const skills = found.flatMap(({ root, validation }) => validation.skills.map((skill) => skillOf(root, skill)))
  const findings = found.flatMap(({ root, validation }) =>
    [...validation.flaws, ...validation.skills.flatMap(({ flaws }) => shownOf(flaws))].map((flaw) =>
      reported(root, flaw),
    ),
  )
  return { skills, findings, ...counted(findings.map(({ rule }) => rule)) }
}

function skillOf({ shown }: Root, { path, name, flaws }: Validation['skills'][number]): ReportedSkill {
  return { path: join(shown, path), name, ...counted(shownOf(flaws).map(({ rule }) => rule)) }
}

function reported({ folder, shown }: Root, { path, place, rule, message }: Flaw): Reported {
  const { line, column } = place
  return { path: join(shown, path), file: join(folder, path), line, column, rule, sheet: sheetOf(rule), message }
}

function counted(rules: readonly Rule[]): { readonly errors: number; readonly warnings: number } {
  const errors = rules.filter((rule) => sheetOf(rule).severity === 'error').length
  return { errors, warnings: rules.length - errors }
}

/**
 * The first few findings of each rule in a file: an author who corrects these corrects the rest, and no single file
 * makes the report endless.
 */
function shownOf(flaws: readonly Flaw[]): Flaw[] {
  const counts = new Map<string, number>()
  const keyOf = ({ rule, path }: Flaw): string => `${rule} ${path}`
  for (const flaw of flaws) counts.set(keyOf(flaw), (counts.get(keyOf(flaw)) ?? 0) + 1)
  const met = new Map<string, number>()
  return flaws.flatMap((flaw) => {
    const nth = (met.get(keyOf(flaw)) ?? 0) + 1
    met.set(keyOf(flaw), nth)
    const more = (counts.get(keyOf(flaw)) ?? 0) - MOST_OF_A_RULE
    if (nth > MOST_OF_A_RULE) return []
    return nth < MOST_OF_A_RULE || more <= 0
      ? [flaw]
      : [{ ...flaw, message: `${flaw.message} (and ${more} more in this file)` }]
  })
}

const MOST_OF_A_RULE = 20
