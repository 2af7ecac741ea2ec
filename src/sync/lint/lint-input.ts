import type { JsonObject } from '../../base/json-value.ts'
import type { SkillFile } from '../model/skill.ts'
import type { Written } from './document-positions.ts'

/** One skill as its author is told about it: what a survey found, and the texts that it did not keep. */
export interface Authored {
  /** Its folder, from the top of what was looked at. */
  readonly path: string
  /** What the folder is called; undefined where that is nobody's choice, such as that of a checkout. */
  readonly folder: string | undefined
  /** As SKILL.md is called there. */
  readonly documentName: string
  /** Undefined where SKILL.md cannot be read. */
  readonly document: Written | undefined
  /** Undefined where the frontmatter cannot be read. */
  readonly frontmatter: JsonObject | undefined
  /** Empty where the skill cannot be served for what its files are. */
  readonly files: readonly SkillFile[]
  /** Those that belong to no skill inside of this one. */
  readonly ownFiles: readonly SkillFile[]
  /** Its own files that are Markdown or hold hidden characters, by the path in the skill. */
  readonly texts: ReadonlyMap<string, string>
}
