import { isOn } from '../skill-md/contract/contract-flags.ts'
import type { Skill } from '../model/skill.ts'

/**
 * Whether a skill may be named to models: its authors can say that people alone call it (`disable-model-invocation`, a field
 * of Claude Code). It can be read like any other by whoever knows it.
 */
export function isForModels({ frontmatter }: Pick<Skill, 'frontmatter'>): boolean {
  return !isOn(frontmatter?.['disable-model-invocation'])
}
