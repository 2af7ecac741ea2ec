import type { SkillLimits } from '../../../sync/model/skill.ts'
import type { NamedSkill } from '../../../sync/model/source.ts'
import type { DocumentReader } from '../../../sync/skill/document-reader.ts'
import type { FrontmatterLimits } from '../../../sync/skill/frontmatter.ts'

/** The operator's rules for listing one server. */
export interface LookRules {
  readonly skill: SkillLimits
  readonly frontmatter: FrontmatterLimits
  readonly reader: DocumentReader
  /** The limit for a file without a declared size. */
  readonly fileBytes: number
  /** The timeout for the first answer to a method. */
  readonly connectMs: number
  /** Returns the skills that the operator currently names by URI, which the server need not list. */
  readonly named: () => readonly NamedSkill[]
  /** True if the skill at a path is wanted; nothing is read for others. */
  readonly isWanted: (path: string) => boolean
  /** True if files with a digest and no size are read to learn their size; by the URI of their SKILL.md. */
  readonly isMeasured: (uri: string) => boolean
  /** True if files that the server calls dynamic are accepted with their content at this listing. */
  readonly takesDynamic: boolean
  /** Reports an oddity without consequences. */
  readonly onOddity: (message: string) => void
}
