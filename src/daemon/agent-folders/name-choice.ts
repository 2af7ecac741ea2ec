import type { Linkable } from './linkable-skills.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { LinkedSkill } from './link-record.ts'

/** Which skills get the names that there are in one folder. */
export interface Choice {
  /** One for each name. */
  readonly chosen: readonly Chosen[]
  /** Each skill whose name stands for another one of other content: the same content is had by that name. */
  readonly clashes: readonly { readonly skill: Linkable; readonly by: LinkedSkill }[]
}

/** A skill, and what its name is written down to stand for: where the skill has moved since, that is its earlier place. */
export interface Chosen {
  readonly skill: Linkable
  readonly linked: LinkedSkill
}

/** What a name stands for by now, as far as that keeps others from having it. */
export type HolderOf = (name: string) => (LinkedSkill & { readonly skill: Linkable | undefined }) | undefined

/**
 * Agents know a skill by its name, so of several with one name one is chosen: the one that has the name already, so that a
 * source that gains a skill takes nobody's place; else the first, in the order of the sources and then of the paths, those that are
 * called after their folders behind all others.
 */
export function choiceOf(wanted: readonly Linkable[], order: readonly SourceId[], holderOf: HolderOf): Choice {
  const chosen = new Map<string, Chosen>()
  const clashes: { skill: Linkable; by: LinkedSkill }[] = []
  for (const skill of inOrder(wanted, order)) {
    const own: LinkedSkill = { source: skill.source, path: skill.skill.path }
    const holder = holderOf(skill.name)
    const first = chosen.get(skill.name)
    const other = first?.skill ?? holder?.skill
    if (other !== undefined && other !== skill && other.digest === skill.digest) continue
    if (first !== undefined) clashes.push({ skill, by: first.linked })
    else if (holder === undefined) chosen.set(skill.name, { skill, linked: own })
    else if (holder.skill === skill) chosen.set(skill.name, { skill, linked: placeOf(holder) })
    else clashes.push({ skill, by: placeOf(holder) })
  }
  return { chosen: [...chosen.values()], clashes }
}

function placeOf({ source, path }: LinkedSkill): LinkedSkill {
  return { source, path }
}

function inOrder(skills: readonly Linkable[], order: readonly SourceId[]): Linkable[] {
  const rank = new Map(order.map((source, at) => [source, at]))
  const rankOf = ({ source }: Linkable): number => rank.get(source) ?? order.length
  const isOfFolder = ({ uri }: Linkable): number => (uri === undefined ? 1 : 0)
  return skills.toSorted((a, b) => isOfFolder(a) - isOfFolder(b) || rankOf(a) - rankOf(b))
}
