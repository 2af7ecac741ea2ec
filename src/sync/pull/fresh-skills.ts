import { othersThan } from '../model/skill-delta.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { storedIn } from '../store/skills/stored-path.ts'
import type { StoredSkill } from '../store/skills/stored-path.ts'

/** The skills and docs of a survey that an earlier snapshot does not have. */
export function freshSkills(
  found: Pick<Snapshot, 'skills' | 'docs'>,
  earlier: Snapshot | undefined,
): readonly StoredSkill[] {
  const others = storedIn({ ...found, skills: othersThan(earlier?.skills ?? [], found.skills) })
  const digests = new Set(others.map(({ digest }) => digest))
  const alike = earlier?.skills.filter(({ digest }) => digest !== undefined && digests.has(digest)) ?? []
  const kept = new Set(storedIn({ ...earlier, skills: alike }).map(placeOf))
  return others.filter((stored) => !kept.has(placeOf(stored)))
}

/** Other rules can read another name out of the same files, and the folder is called by it. */
function placeOf({ place, digest, folderName }: StoredSkill): string {
  return `${place}/${digest}/${folderName}`
}
