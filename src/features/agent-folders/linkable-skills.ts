import { printablePath } from '../../base/text/printable.ts'
import type { CatalogSkill, FolderSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { folderSkillsIn } from '../../sync/catalog/folder-skills.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { nameProblem } from '../../sync/skill/skill-path.ts'
import type { FetchedSkills } from './fetched-skills.ts'
import type { LinkedSkill } from './link-record.ts'

/** A skill that can be linked, by its `name`. */
export type Linkable = CatalogSkill | FolderSkill

/**
 * The skills that can be linked: the listed ones, and the tools-only ones by the names of their folders. A skill of
 * another MCP server only if its source has `folders` and all of its files are here: an agent that opens a folder fetches
 * and compares nothing. Each source refuses names that a disk must not have; they are refused here again, where
 * they would be written.
 */
export function linkableIn(catalog: Catalog, fetched: FetchedSkills): readonly Linkable[] {
  return [...catalog.listed, ...folderSkillsIn(catalog)].filter(
    ({ skill }) =>
      (!isOfUpstream(skill) || (fetched.has(skill) && fetched.get(skill) === undefined)) &&
      refusedNameIn(skill) === undefined,
  )
}

/** The reason why a file of the skill is written to no disk; `undefined` if there is none. */
export function refusedNameIn({ files }: Skill): string | undefined {
  for (const { path } of files) {
    const problem = nameProblem(path)
    if (problem !== undefined) return `its file ${printablePath(path)} ${problem}`
  }
  return undefined
}

/** Finds the skills that linked names stand for in one catalog. */
export class LinkableSkills {
  readonly #named = new Map<string, Linkable[]>()

  constructor(linkable: readonly Linkable[]) {
    for (const skill of linkable) {
      const key = `${skill.source}/${skill.name}`
      const known = this.#named.get(key)
      if (known === undefined) this.#named.set(key, [skill])
      else known.push(skill)
    }
  }

  /**
   * The skill of that source and name: the one in the linked folder, else the only one, which has moved. Never one of
   * another source: a name stays with its source.
   */
  of(name: string, { source, path }: LinkedSkill): Linkable | undefined {
    const skills = this.#named.get(`${source}/${name}`) ?? []
    return skills.find(({ skill }) => skill.path === path) ?? (skills.length === 1 ? skills[0] : undefined)
  }
}
