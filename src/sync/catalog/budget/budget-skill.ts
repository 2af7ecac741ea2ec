import { comparePaths } from '../../model/digest.ts'
import { isInLists } from '../../model/skill.ts'
import type { Skill } from '../../model/skill.ts'
import type { Snapshot } from '../../model/snapshot.ts'
import { isForModels } from '../model-invocation.ts'

/** A skill as a client lists it to a model before it loads anything. */
export interface BudgetSkill {
  /** Its place, unique in one listing: the path of its folder after the id of its source. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** The field `when_to_use`, which Claude Code lists after the description. */
  readonly whenToUse?: string
  /** Its author reserves it for people (`disable-model-invocation`), which not every client obeys. */
  readonly isForPeople?: true
}

/** The skill as clients list it. `undefined` if none does: it is withheld, in no list, or has no name. */
export function budgetSkillOf(skill: Skill, id: string): BudgetSkill | undefined {
  const { name, description = '', standing, frontmatter } = skill
  const isListed = standing !== 'withheld' && isInLists(skill)
  if (!isListed || name === undefined) return undefined
  const whenToUse = frontmatter?.['when_to_use']
  return {
    id,
    name: oneLine(name),
    description: oneLine(description),
    ...(typeof whenToUse === 'string' && { whenToUse: oneLine(whenToUse) }),
    ...(!isForModels(skill) && { isForPeople: true as const }),
  }
}

/** The listed skills of snapshots, in the order of their ids. */
export function budgetSkillsOf(snapshots: readonly Pick<Snapshot, 'source' | 'skills'>[]): readonly BudgetSkill[] {
  return snapshots
    .flatMap(({ source, skills }) => skills.flatMap((skill) => budgetSkillOf(skill, `${source}/${skill.path}`) ?? []))
    .toSorted((a, b) => comparePaths(a.id, b.id))
}

/** A listing has one line for each skill. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
