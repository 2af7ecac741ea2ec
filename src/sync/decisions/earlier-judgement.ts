import type { Finding } from '../skill-md/finding.ts'
import { matcher } from '../../base/globs.ts'
import { placing, unplaced } from '../model/serving-paths.ts'
import type { PlacementRules } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import { atOnce } from '../../base/cooperative.ts'
import type { Source } from '../model/source.ts'

/** As much of what a source selects by as decides how its skills stand. */
type Selected = Pick<Source, 'names' | 'nested' | 'unlisted' | 'contract'>

/**
 * The skills as earlier versions of the survey judged them, as far as a lock can tell: what is offered only since is not among them, and
 * what is read only since has no name. The list itself where there is none of these.
 */
export function asJudgedBefore(skills: readonly Skill[], selected: Selected): readonly Skill[] {
  const placed = skills.some(isJudgedSince) ? placedBefore(skills, selected) : skills
  return placed.some(isOfferedSince) ? placed.filter((skill) => !isOfferedSince(skill)) : placed
}

/** A skill that could not be read, or lacked files, took no place from another. */
function placedBefore(skills: readonly Skill[], { names, nested, unlisted, contract }: Selected): readonly Skill[] {
  const rules: PlacementRules = { names, nested, isUnlisted: matcher(unlisted) }
  return atOnce(
    placing(
      skills.map((skill) => (isJudgedSince(skill) ? judgedBefore(skill, contract) : skill)),
      rules,
    ),
  )
}

function judgedBefore(skill: Skill, isContractAsked: boolean): Skill {
  const read = isReadSince(skill) ? unreadBefore(skill, isContractAsked) : skill
  if (!isWholeSince(skill)) return read
  return { ...unplaced(read), standing: 'withheld', files: [], size: 0, digest: undefined }
}

function isJudgedSince(skill: Skill): boolean {
  return isReadSince(skill) || isWholeSince(skill)
}

/** True of a skill whose pointers of git LFS are left out. */
function isWholeSince({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'lfs-left-out')
}

/** The contract is kept by no frontmatter that is not read. */
function unreadBefore(skill: Skill, isContractAsked: boolean): Skill {
  const judged = unplaced(skill)
  const standing = isContractAsked || judged.standing === 'withheld' ? 'withheld' : 'tools'
  return { ...judged, standing, name: undefined, description: undefined, frontmatter: undefined }
}

/** True of a frontmatter that is no YAML, and is read as it is meant. */
function isReadSince({ findings }: Skill): boolean {
  return findings.some(({ rule }) => rule === 'frontmatter-unquoted')
}

/** True of what another skill keeps from its URI, and is no copy of that. */
function isOfferedSince({ standing, findings }: Skill): boolean {
  return standing === 'tools' && findings.some(isClash)
}

function isClash({ rule }: Finding): boolean {
  return rule === 'name-clash'
}
