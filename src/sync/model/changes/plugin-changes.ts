import { folderOf } from '../../../base/paths.ts'
import { comparePaths } from '../digest.ts'
import { isInLists } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'

/**
 * A plugin of the marketplace in a repository whose skills differ between two states. The packs with `plugin` have the
 * skills of plugins, so the file of the marketplace changes what clients get.
 */
export interface PluginChange {
  readonly plugin: string
  readonly change: 'added' | 'changed' | 'removed'
  /** The paths of the skills that it has more, and no longer. */
  readonly gains: readonly PluginSkill[]
  readonly loses: readonly PluginSkill[]
}

export interface PluginSkill {
  readonly path: string
  readonly isUnlisted?: true
}

/** The skills of each plugin that are not withheld, by their paths. */
export type PluginSkills = ReadonlyMap<string, ReadonlyMap<string, PluginSkill>>

/** `undefined` if the snapshot does not tell: its source reads no marketplace. */
export function pluginSkillsOf({ marketplace, skills }: PluginState): PluginSkills | undefined {
  if (marketplace === undefined) return undefined
  const plugins = new Map(marketplace.groups.map(({ name }) => [name, new Map<string, PluginSkill>()]))
  const byPlace = new Map<string, Set<string>>()
  for (const { name, skills: places } of marketplace.groups)
    for (const place of places) byPlace.set(place, (byPlace.get(place) ?? new Set()).add(name))
  for (const skill of skills) {
    const { path, standing } = skill
    if (standing === 'withheld') continue
    const found = { path, ...(!isInLists(skill) && { isUnlisted: true as const }) }
    for (const place of path === '' ? [path] : [path, folderOf(path)])
      for (const name of byPlace.get(place) ?? []) plugins.get(name)?.set(path, found)
  }
  return plugins
}

type PluginState = Pick<Snapshot, 'marketplace' | 'skills'>

/** The plugins that differ, by their names. A side without a marketplace has none. */
export function pluginChanges(before: PluginSkills = NONE, after: PluginSkills = NONE): readonly PluginChange[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted(comparePaths)
  return names.flatMap((plugin): PluginChange[] => {
    const [was, is] = [before.get(plugin), after.get(plugin)]
    const gains = [...(is ?? NONE)].flatMap(([path, skill]) => (was?.has(path) === true ? [] : [skill]))
    const loses = [...(was ?? NONE)].flatMap(([path, skill]) => (is?.has(path) === true ? [] : [skill]))
    if (was !== undefined && is !== undefined && gains.length + loses.length === 0) return []
    return [{ plugin, change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed', gains, loses }]
  })
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>()
