import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/**
 * The first findings, and one more with the number of the rest, under the rule of the first that is left out. There may
 * be thousands, and each generation would list them.
 */
export function firstDiagnostics(
  findings: readonly SkillDiagnostic[],
  most: number,
  rest: (left: number, next: SkillDiagnostic) => Pick<SkillDiagnostic, 'path' | 'message'>,
): readonly SkillDiagnostic[] {
  const next = findings[most]
  if (next === undefined) return findings
  return [...findings.slice(0, most), { rule: next.rule, ...rest(findings.length - most, next) }]
}
