import type { JsonObject } from '../../base/json-value.ts'
import { baseName } from '../../base/paths.ts'
import type { Signers } from '../model/signers.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import type { SourceId } from '../model/source-id.ts'
import { uriIn } from '../model/uris/skill-uri.ts'

/**
 * A skill that the server answers for. It has no list of its files: there are many, and `filesOf` makes them from the
 * skill's data.
 */
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
  /** The signers of its commit or tag, if signatures are required. */
  readonly signers?: Signers
  /** Its source's folders that are renamed: true path to served path. */
  readonly renamed: ReadonlyMap<string, string>
  /** True if no client refuses a listing because of its frontmatter: `skills/list` and the index then contain it. */
  readonly isEnumerable: boolean
  /**
   * True if no skill is in it or around it, and no folder in it is renamed: its files are below its root at their own
   * paths, and no other skill has files there.
   */
  readonly isAlone: boolean
}

/**
 * A tools-only skill for programs that know folders and no URIs: installers, and agents that read folders. They name it
 * after its folder.
 */
export interface FolderSkill extends Pick<CatalogSkill, 'source' | 'description' | 'digest' | 'skill'> {
  /** No URI can hold its name, or another skill has that URI. */
  readonly uri: undefined
  /** The name of its folder. */
  readonly name: string
}

/** A file at its place. There are many, so derived values are computed on each access and not stored. */
export class CatalogFile {
  /** The URI of the folder that contains it. */
  readonly folder: string
  /** A skill whose stored version holds the bytes. */
  readonly skill: Skill
  readonly file: SkillFile
  /** The skill whose SKILL.md this file is. */
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

/** Sorted by name. A file comes before a folder of its name; only another server can declare both. */
export type FolderChildren = readonly FolderChild[]

export type FolderChild = CatalogFolder | CatalogFile
