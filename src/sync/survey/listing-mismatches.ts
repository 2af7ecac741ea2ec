import { declarationOf } from '../decisions/approvals.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Mismatches } from '../store/skills/upstream-files.ts'

/** The snapshot with what is known of bytes that its server sent in place of others; the same object where that says nothing new. */
export function snapshotWithMismatches(snapshot: Snapshot, mismatches: Mismatches): Snapshot {
  if (mismatches.size === 0) return snapshot
  const skills = snapshot.skills.map((skill) => withMismatch(skill, knownOf(skill, mismatches)))
  return skills.some((skill, index) => skill !== snapshot.skills[index]) ? { ...snapshot, skills } : snapshot
}

/** The known mismatch of what the skill declares now; undefined where there is none. */
export function knownOf(skill: Skill, mismatches: Mismatches): string | undefined {
  const declaration = skill.upstream === undefined ? undefined : declarationOf(skill)
  return declaration === undefined ? undefined : mismatches.get(declaration)
}

/** The skill, withheld for that; the same object where there is nothing, or where it has that finding. */
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

/** True of a skill that is withheld for bytes that were not what is declared. */
export function hasMismatch({ findings }: Pick<Skill, 'findings'>): boolean {
  return findings.some(({ rule }) => rule === 'content-mismatch')
}
