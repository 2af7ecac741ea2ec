import { shellWord } from '../../../base/text/shell-word.ts'
import { hasEntryFault, isYaml } from '../../skill/entry-faults.ts'
import type { SkillCode, SkillDiagnostic } from '../../skill/skill-diagnostic.ts'
import { describeSkillCode } from '../code-descriptions.ts'
import { isInLists } from '../skill.ts'
import type { Skill, Standing } from '../skill.ts'
import type { SkillProblem } from './verdict.ts'

/** Returns the problems that the survey found in a skill: those first that take it out of a list or of service. */
export function surveyProblems(
  source: string,
  skill: Skill,
  others: readonly SkillDiagnostic[] = [],
): readonly SkillProblem[] {
  const { path, standing, findings } = skill
  const found = [...findings, ...others].toSorted((a, b) => rankOf(a, standing) - rankOf(b, standing))
  const hidden = isInLists(skill) ? [] : [unlisted(source, path)]
  return [...hidden, ...found.map((finding) => findingProblem(source, path, finding))]
}

/** Those that can take a skill out of service or out of a list come first, those that can only change a list last. */
function rankOf(finding: SkillDiagnostic, standing: Standing): number {
  const { rule } = finding
  if (rule === 'content-mismatch' || (rule === 'frontmatter-invalid' && standing !== 'served')) return 0
  const findings = [finding]
  const isOfList = !isYaml({ findings }) || hasEntryFault({ findings })
  if (isOfList) return standing === 'served' ? 1 : 2
  return describeSkillCode(rule).severity === 'error' || DECISIVE.has(rule) ? 1 : 2
}

/** Warnings that can take a skill out of service, or have an earlier version served. */
const DECISIVE: ReadonlySet<SkillCode> = new Set<SkillCode>([
  'hidden-unicode',
  'kept-version',
  'link-refused',
  'nested-skill',
])

/** A finding of a survey as a problem. `path`: the skill that it concerns, if it is one. */
export function findingProblem(
  source: string,
  path: string,
  { rule, path: at, message }: SkillDiagnostic,
): SkillProblem {
  const described = describeSkillCode(rule)
  const fix =
    rule === 'content-mismatch'
      ? `skillsyncd mcp-source mirror ${shellWord(placeOf(source, path))} reads its files again`
      : described.fix
  return { code: rule, place: placeOf(source, at), message, fix }
}

function unlisted(source: string, path: string): SkillProblem {
  const message = 'it is in no list: clients find it by its URI or its longest id alone'
  const fix = 'Nothing, if intended; else take it out of `unlisted` of the source, or of what its server hides'
  return { code: 'skill-unlisted', place: placeOf(source, path), message, fix }
}

function placeOf(source: string, path: string): string {
  return path === '' ? source : `${source}/${path}`
}
