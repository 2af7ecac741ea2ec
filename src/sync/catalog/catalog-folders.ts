import { folderUrisAbove } from '../model/uris/skill-uri.ts'
import type { CatalogSkill, FolderChildren } from './catalog-file.ts'
import { childrenBelow, folderUrisOf } from './skill-files.ts'

/** The skills of a catalog by the URI of their SKILL.md. */
export type SkillsByUri = ReadonlyMap<string, CatalogSkill>

/**
 * Folders by URI without a trailing slash. Those of a skill that stands alone are computed from its files on request: a
 * map of all of them would be larger than the rest of the catalog.
 */
export class CatalogFolders {
  readonly #shared: ReadonlyMap<string, FolderChildren>
  readonly #skills: SkillsByUri

  /** `shared`: all folders except those of skills that stand alone. */
  constructor(shared: ReadonlyMap<string, FolderChildren>, skills: SkillsByUri) {
    this.#shared = shared
    this.#skills = skills
  }

  get(uri: string): FolderChildren | undefined {
    const shared = this.#shared.get(uri)
    if (shared !== undefined) return shared
    const skill = this.aloneAround(uri)
    return skill && childrenBelow(skill, uri)
  }

  has(uri: string): boolean {
    return this.get(uri) !== undefined
  }

  *keys(): Generator<string> {
    yield* this.#shared.keys()
    for (const skill of this.#skills.values()) if (skill.isAlone) yield* foldersIn(skill)
  }

  /** The direct children of the folders that skills share. */
  shared(): Iterable<FolderChildren> {
    return this.#shared.values()
  }

  /** The skill that stands alone at a URI, or whose folder contains the URI; `undefined` if there is none. */
  aloneAround(uri: string): CatalogSkill | undefined {
    const at = this.#skills.get(`${uri}/SKILL.md`)
    if (at !== undefined) return at.isAlone ? at : undefined
    for (const folder of folderUrisAbove(uri)) {
      const skill = this.#skills.get(`${folder}/SKILL.md`)
      if (skill !== undefined) return skill.isAlone ? skill : undefined
    }
    return undefined
  }

  /** These folders, for skills with other content at unchanged places. */
  with(skills: SkillsByUri): CatalogFolders {
    return new CatalogFolders(this.#shared, skills)
  }
}

function foldersIn(skill: CatalogSkill): ReadonlySet<string> {
  const all = new Set<string>()
  for (const folder of folderUrisOf(skill)) {
    for (const at of [folder, ...folderUrisAbove(folder)]) {
      all.add(at)
      if (at === skill.root) break
    }
  }
  return all
}
