import { comparePaths } from './digest.ts'
import type { Skill } from './skill.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * The numbers of skills that were added, removed and changed between two snapshots of a source. Withheld skills do not
 * count.
 */
export interface Moved {
  readonly added: number
  readonly removed: number
  readonly changed: number
}

export const UNMOVED: Moved = { added: 0, removed: 0, changed: 0 }

export function movedBetween(before: Snapshot | undefined, after: Snapshot): Moved {
  const skills = before?.skills ?? []
  const [was, is] = [digestsIn(othersThan(after.skills, skills)), digestsIn(othersThan(skills, after.skills))]
  const added = [...is.keys()].filter((path) => !was.has(path)).length
  const removed = [...was.keys()].filter((path) => !is.has(path)).length
  const changed = [...is].filter(([path, digest]) => was.has(path) && was.get(path) !== digest).length
  return { added, removed, changed }
}

function digestsIn(skills: readonly Skill[]): ReadonlyMap<string, string | undefined> {
  const there = skills.filter(({ standing }) => standing !== 'withheld')
  return new Map(there.map(({ path, digest }) => [path, digest]))
}

/**
 * The items of `skills` that are not, as the same object, in `before`: usually very few of thousands. Both must be
 * sorted by path.
 */
export function othersThan(before: readonly Skill[], skills: readonly Skill[]): Skill[] {
  let at = 0
  return skills.filter((skill) => {
    while (before[at] !== skill && isBefore(before[at], skill)) at += 1
    if (before[at] !== skill) return true
    at += 1
    return false
  })
}

function isBefore(one: Skill | undefined, { path }: Skill): boolean {
  return one !== undefined && comparePaths(one.path, path) < 0
}
