import { declarationOf } from '../../model/decisions/approvals.ts'
import type { Skill } from '../../model/skill.ts'
import type { Snapshot } from '../../model/snapshot.ts'
import type { Mismatches } from './upstream-files.ts'

/** The snapshot with the known mismatches of bytes that its server sent; the same object if these are not new. */
export function snapshotWithMismatches(snapshot: Snapshot, mismatches: Mismatches): Snapshot {
  if (mismatches.size === 0) return snapshot
  const skills = snapshot.skills.map((skill) => withMismatch(skill, knownOf(skill, mismatches)))
  return skills.some((skill, index) => skill !== snapshot.skills[index]) ? { ...snapshot, skills } : snapshot
}

/** The known mismatch for the skill's current declaration; `undefined` if there is none. */
export function knownOf(skill: Skill, mismatches: Mismatches): string | undefined {
  const declaration = skill.upstream === undefined ? undefined : declarationOf(skill)
  return declaration === undefined ? undefined : mismatches.get(declaration)
}

/** The skill, withheld for the mismatch; the same object if there is none, or if the skill has that finding already. */
export function withMismatch(skill: Skill, message: string | undefined): Skill {
  const { upstream, standing, findings } = skill
  if (message === undefined || upstream === undefined || hasMismatch(skill)) return skill
  return {
    ...skill,
    standing: 'withheld',
    findings: [...findings, { rule: 'content-mismatch', path: skill.path, message }],
    ...(standing !== 'withheld' && { upstream: { ...upstream, isRefusedAsRead: true } }),
  }
}

/** True if the skill is withheld because its bytes differed from the declaration. */
export function hasMismatch({ findings }: Pick<Skill, 'findings'>): boolean {
  return findings.some(({ rule }) => rule === 'content-mismatch')
}
