import type { Finding } from '../skill-md/finding.ts'

/**
 * The first findings, and one more that says of the rest how many they are, with the rule of the first that is left out:
 * there may be thousands, and each generation would name them.
 */
export function firstFindings(
  findings: readonly Finding[],
  most: number,
  rest: (left: number, next: Finding) => Pick<Finding, 'path' | 'message'>,
): readonly Finding[] {
  const next = findings[most]
  if (next === undefined) return findings
  return [...findings.slice(0, most), { rule: next.rule, ...rest(findings.length - most, next) }]
}
