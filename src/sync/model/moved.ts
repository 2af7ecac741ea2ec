import type { Skill } from './skill.ts'
import type { Snapshot } from './snapshot.ts'

/** How many skills came, went and changed from one snapshot of a source to the next. Those that are withheld are not there. */
export interface Moved {
  readonly added: number
  readonly removed: number
  readonly changed: number
}

export const UNMOVED: Moved = { added: 0, removed: 0, changed: 0 }

export function movedBetween(before: Snapshot | undefined, after: Snapshot): Moved {
  const [was, is] = [digestsIn(before?.skills ?? []), digestsIn(after.skills)]
  const added = [...is.keys()].filter((path) => !was.has(path)).length
  const removed = [...was.keys()].filter((path) => !is.has(path)).length
  const changed = [...is].filter(([path, digest]) => was.has(path) && was.get(path) !== digest).length
  return { added, removed, changed }
}

function digestsIn(skills: readonly Skill[]): ReadonlyMap<string, string | undefined> {
  const there = skills.filter(({ standing }) => standing !== 'withheld')
  return new Map(there.map(({ path, digest }) => [path, digest]))
}
