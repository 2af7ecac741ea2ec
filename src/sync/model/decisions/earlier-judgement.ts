import { runNow } from '../../../base/async/cooperative.ts'
import { matcher } from '../../../base/globs.ts'
import type { SkillDiagnostic } from '../../skill/skill-diagnostic.ts'
import { placing, withoutPlacement } from '../serving-paths.ts'
import type { PlacementRules } from '../serving-paths.ts'
import type { Skill } from '../skill.ts'
import type { Source } from '../source.ts'

/** The part of a source's selection that decides the standing of its skills. */
type Selected = Pick<Source, 'names' | 'nested' | 'unlisted' | 'contract'>

/**
 * The skills as earlier versions of the survey judged them, in the detail that a lock records. Skills that are offered
 * only since then are left out, and skills that are readable only since then have no name. Returns the same list if
 * there are none of either.
 */
export function asJudgedBefore(skills: readonly Skill[], selected: Selected): readonly Skill[] {
  const placed = skills.some(isJudgedSince) ? placedBefore(skills, selected) : skills
  return placed.some(isOfferedSince) ? placed.filter((skill) => !isOfferedSince(skill)) : placed
}

/** A skill that could not be read, or lacked files, took no path from another. */
function placedBefore(skills: readonly Skill[], { names, nested, unlisted, contract }: Selected): readonly Skill[] {
  const rules: PlacementRules = { names, nested, isUnlisted: matcher(unlisted) }
  return runNow(
    placing(
      skills.map((skill) => (isJudgedSince(skill) ? judgedBefore(skill, contract === true) : skill)),
      rules,
    ),
  )
}

function judgedBefore(skill: Skill, isContractAsked: boolean): Skill {
  const read = isReadSince(skill) ? unreadBefore(skill, isContractAsked) : skill
  if (!isWholeSince(skill)) return read
  return { ...withoutPlacement(read), standing: 'withheld', files: [], size: 0, digest: undefined }
}

function isJudgedSince(skill: Skill): boolean {
  return isReadSince(skill) || isWholeSince(skill)
}

/** True if Git LFS pointers of the skill are left out. */
function isWholeSince({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'lfs-left-out')
}

/** A frontmatter that is not read cannot satisfy the contract. */
function unreadBefore(skill: Skill, isContractAsked: boolean): Skill {
  const judged = withoutPlacement(skill)
  const standing = isContractAsked || judged.standing === 'withheld' ? 'withheld' : 'tools'
  return { ...judged, standing, name: undefined, description: undefined, frontmatter: undefined }
}

/** True if the frontmatter is not valid YAML, and is read as it was meant. */
function isReadSince({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'frontmatter-unquoted')
}

/** True if another skill owns the URI of this one, and this one is not a copy of it. */
function isOfferedSince({ standing, findings }: Skill): boolean {
  return standing === 'tools' && findings.some(isClash)
}

function isClash({ rule }: SkillDiagnostic): boolean {
  return rule === 'name-clash'
}
