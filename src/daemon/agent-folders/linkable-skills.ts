import type { CatalogSkill, FolderSkill } from '../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { folderSkillsIn } from '../../sync/catalog/folder-skills.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { LinkedSkill } from './link-record.ts'

/** A skill that can be linked, by its `name`. */
export type Linkable = CatalogSkill | FolderSkill

/**
 * The skills that can be linked: those in the lists, and those for tools alone by the names of their folders. One of another MCP server never is: its files are here as far as somebody
 * wanted them, and are checked when they are read, which no agent that opens a folder would do.
 */
export function linkableIn(catalog: Catalog): readonly Linkable[] {
  return [...catalog.listed, ...folderSkillsIn(catalog)].filter(({ skill }) => !isOfUpstream(skill))
}

/** Finds what linked names stand for in one catalog. */
export class MeantSkills {
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
   * The skill of that source and name: the one in the folder that was linked, else the only one, which has moved there. Never
   * one of another source: whoever has a name keeps whom it is from.
   */
  of(name: string, { source, path }: LinkedSkill): Linkable | undefined {
    const skills = this.#named.get(`${source}/${name}`) ?? []
    return skills.find(({ skill }) => skill.path === path) ?? (skills.length === 1 ? skills[0] : undefined)
  }
}
