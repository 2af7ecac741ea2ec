import { joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { comparePaths } from '../model/digest.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { lifecycleOf } from '../skill/lifecycle.ts'
import { packedIn } from './pack.ts'
import type { Pack } from './pack.ts'

/** A skill that a pack lacks although one of its skills depends on it. */
export interface LackingDependency {
  /** The name that `depends_on` has. */
  readonly name: string
  /** The skills of the pack that depend on it, as `SOURCE/PATH`. */
  readonly neededBy: readonly string[]
  /** The skills of that name outside of the pack, as `SOURCE/PATH`; empty if there is none. */
  readonly places: readonly string[]
}

/**
 * The dependencies that lead out of a pack, in the order of their names. The pack stays as it is: a pack is an access
 * boundary, and the authors of a repository write `depends_on`. If a dependency came with its dependent, a commit could
 * open any skill of the hub to the clients of the pack. Only the configuration adds one.
 */
export function lackingDependencies(pack: Pack, snapshots: readonly Snapshot[]): readonly LackingDependency[] {
  const [inside, outside]: [Placed[], Placed[]] = [[], []]
  for (const snapshot of snapshots) {
    const packed = packedIn(snapshot, pack)
    for (const skill of snapshot.skills)
      if (skill.standing !== 'withheld')
        (packed.has(skill) ? inside : outside).push({ skill, place: joinPath(snapshot.source, skill.path) })
  }
  const names = new Set(inside.map(({ skill }) => skill.name))
  const neededBy = new Map<string, string[]>()
  for (const { skill, place } of inside)
    for (const name of dependenciesOf(skill)) {
      if (names.has(name)) continue
      const needing = neededBy.get(name)
      if (needing === undefined) neededBy.set(name, [place])
      else needing.push(place)
    }
  const places = Map.groupBy(outside, ({ skill }) => skill.name)
  return [...neededBy]
    .toSorted(([a], [b]) => comparePaths(a, b))
    .map(([name, needing]) => ({
      name,
      neededBy: needing.toSorted(comparePaths),
      places: (places.get(name) ?? []).map(({ place }) => place).toSorted(comparePaths),
    }))
}

/** One line for the operator: the problem, and the edit of the configuration that ends it. */
export function lackingText({ name, neededBy, places }: LackingDependency): string {
  const needed = `needed by ${fewText(neededBy, 1)}`
  if (places.length === 0) return `lacks "${name}", ${needed}; no source has a skill of that name`
  const add = 'add it to "include" of the pack if its clients may have it'
  return `lacks "${name}" (${fewText(places, 1)}), ${needed}; ${add}`
}

interface Placed {
  readonly skill: Skill
  readonly place: string
}

/** The names that a skill depends on, by its metadata and by a contract that its source requires. */
function dependenciesOf(skill: Pick<Skill, 'frontmatter' | 'lifecycle' | 'contract'>): readonly string[] {
  const required = skill.contract?.isOffered === true ? undefined : skill.contract
  return [...new Set([...(lifecycleOf(skill).dependsOn ?? []), ...(required?.dependsOn ?? [])])]
}
