import type { SourceId } from '../../sync/model/source-id.ts'
import type { LinkedSkill } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'

/** The skills that get the names in one folder. */
export interface NameChoice {
  /** One for each name. */
  readonly chosen: readonly Chosen[]
  /** The skills whose name stands for another skill with other content. A skill with the same content is no clash. */
  readonly clashes: readonly { readonly skill: Linkable; readonly by: LinkedSkill }[]
}

/** A skill, and the recorded place that its name stands for. If the skill has moved, that is its earlier place. */
export interface Chosen {
  readonly skill: Linkable
  readonly linked: LinkedSkill
}

/** The skill that a name stands for now, if that keeps other skills from getting the name. */
export type NameHolderOf = (name: string) => (LinkedSkill & { readonly skill: Linkable | undefined }) | undefined

/**
 * Agents identify a skill by its name, so one of several skills with one name is chosen. The skill that already has the
 * name keeps it, so a source that gains a skill displaces none. Else the first one gets it, in the order of the sources
 * and then of the paths; skills that are named after their folders come last.
 */
export function choiceOf(wanted: readonly Linkable[], order: readonly SourceId[], holderOf: NameHolderOf): NameChoice {
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
