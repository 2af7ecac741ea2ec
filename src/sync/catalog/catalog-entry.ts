import type { JsonObject } from '../../base/json-value.ts'
import { baseName } from '../../base/paths.ts'
import { uriIn } from '../model/skill-uri.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Signers } from '../model/signers.ts'

/** A skill that is answered for. Its files are not listed here: there are many, and `filesOf` makes them of what is known of the skill. */
export interface CatalogSkill {
  /** The URI of its SKILL.md. */
  readonly uri: string
  /** The URI of its folder. */
  readonly root: string
  readonly source: SourceId
  readonly name: string
  readonly description: string
  readonly frontmatter: JsonObject
  readonly digest: string
  readonly skill: Skill
  /** Who signed the commit or tag it comes from, where that is asked for. */
  readonly signers?: Signers
  /** Its source's folders that are renamed: true path to served path. */
  readonly renamed: ReadonlyMap<string, string>
  /** No client refuses a listing for its frontmatter, so that it stands in `skills/list` and in the index. */
  readonly isEnumerable: boolean
  /** No skill lies in it or around it, and no folder in it is renamed: its files are below its root at their own paths, and nobody else's. */
  readonly isAlone: boolean
}

/**
 * A skill for tools alone as programs have it that know folders and no URIs: installers, and agents that read folders. They call it
 * after its folder.
 */
export interface FolderSkill extends Pick<CatalogSkill, 'source' | 'description' | 'digest' | 'skill'> {
  /** No URI can hold its name, or another skill has that URI. */
  readonly uri: undefined
  /** The name of its folder. */
  readonly name: string
}

/** A file where it is found. There are many: what follows from the rest is made when it is asked for, and not kept. */
export class CatalogFile {
  /** The URI of the folder that it lies in. */
  readonly folder: string
  /** A skill whose stored version holds the bytes. */
  readonly skill: Skill
  readonly file: SkillFile
  /** The skill that this file is the SKILL.md of. */
  readonly documents: CatalogSkill | undefined

  constructor(folder: string, skill: Skill, file: SkillFile, documents?: CatalogSkill) {
    this.folder = folder
    this.skill = skill
    this.file = file
    this.documents = documents
  }

  get uri(): string {
    return uriIn(this.folder, this.name)
  }

  /** The last segment of its path. */
  get name(): string {
    return baseName(this.file.path)
  }
}

export interface CatalogFolder {
  readonly kind: 'folder'
  readonly uri: string
  readonly name: string
}

/** In the order of their names. A file comes before a folder of its name, which only another server can say that there is. */
export type FolderChildren = readonly FolderChild[]

export type FolderChild = CatalogFolder | CatalogFile
