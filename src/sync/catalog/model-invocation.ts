import type { Skill } from '../model/skill.ts'
import { isOn } from '../skill/contract/contract-flags.ts'

/**
 * True if the server may name a skill to models: its author can reserve it for people (`disable-model-invocation`, a
 * field of Claude Code). A client that knows such a skill can still read it like any other.
 */
export function isForModels({ frontmatter }: Pick<Skill, 'frontmatter'>): boolean {
  return !isOn(frontmatter?.['disable-model-invocation'])
}
