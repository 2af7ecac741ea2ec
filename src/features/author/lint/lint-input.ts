import type { JsonObject } from '../../../base/json-value.ts'
import type { SkillFile } from '../../../sync/model/skill.ts'
import type { PositionedDocument } from './document-positions.ts'

/** One skill as the rules for authors see it: the survey's data, and the texts that the survey did not keep. */
export interface Authored {
  /** Its folder, from the top of the validated tree. */
  readonly path: string
  /** The name of the folder; `undefined` if the author did not choose it, such as that of a checkout. */
  readonly folder: string | undefined
  /** The actual name of SKILL.md there. */
  readonly documentName: string
  /** `undefined` if SKILL.md cannot be read. */
  readonly document: PositionedDocument | undefined
  /** `undefined` if the frontmatter cannot be read. */
  readonly frontmatter: JsonObject | undefined
  /** Empty if the files prevent the skill from being served. */
  readonly files: readonly SkillFile[]
  /** The files that belong to no skill inside this one. */
  readonly ownFiles: readonly SkillFile[]
  /** Its own files that are Markdown or contain hidden characters, by the path in the skill. */
  readonly texts: ReadonlyMap<string, string>
}
