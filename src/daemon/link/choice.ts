import type { CatalogSkill } from '../../sync/model/catalog-entry.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { LinkedSkill } from './links.ts'

/** Which skills get the names that there are in one folder. */
export interface Choice {
  /** One for each name. */
  readonly chosen: readonly Chosen[]
  /** Each skill whose name stands for another one of other content: the same content is had by that name. */
  readonly clashes: readonly { readonly skill: CatalogSkill; readonly by: LinkedSkill }[]
}

/** A skill, and what its name is written down to stand for: where the skill has moved since, that is its earlier place. */
export interface Chosen {
  readonly skill: CatalogSkill
  readonly linked: LinkedSkill
}

/** What a name stands for by now, as far as that keeps others from having it. */
export type HolderOf = (name: string) => (LinkedSkill & { readonly skill: CatalogSkill | undefined }) | undefined

/**
 * Agents know a skill by its name, so of several with one name one is chosen: the one that has the name already, so that a
 * source that gains a skill takes nobody's place; else the first, in the order of the sources and then of the paths.
 */
export function choiceOf(wanted: readonly CatalogSkill[], order: readonly SourceId[], holderOf: HolderOf): Choice {
  const chosen = new Map<string, Chosen>()
  const clashes: { skill: CatalogSkill; by: LinkedSkill }[] = []
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

function inOrder(skills: readonly CatalogSkill[], order: readonly SourceId[]): CatalogSkill[] {
  const rank = new Map(order.map((source, at) => [source, at]))
  const rankOf = ({ source }: CatalogSkill): number => rank.get(source) ?? order.length
  return skills.toSorted((a, b) => rankOf(a) - rankOf(b))
}
