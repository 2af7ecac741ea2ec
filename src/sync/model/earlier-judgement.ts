import type { Finding } from './finding.ts'
import type { Skill } from './skill.ts'

/**
 * The skills as earlier versions of the survey judged them, as far as a lock can tell: without those that are offered only since. The
 * list itself where there are none of them.
 */
export function asJudgedBefore(skills: readonly Skill[]): readonly Skill[] {
  return skills.some(isOfferedSince) ? skills.filter((skill) => !isOfferedSince(skill)) : skills
}

/** True of what another skill keeps from its URI, and is no copy of that. */
function isOfferedSince({ standing, findings }: Skill): boolean {
  return standing === 'tools' && findings.some(isClash)
}

function isClash({ rule }: Finding): boolean {
  return rule === 'name-clash'
}
