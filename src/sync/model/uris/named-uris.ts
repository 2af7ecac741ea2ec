import { withRule, type NameRule, type Rule } from '../decisions/rules.ts'
import type { SourceId } from '../source-id.ts'

/**
 * The skills of other MCP servers that the operator named by URI because no server lists them. Every check of the server
 * includes them, like the `uris` of the configuration.
 */
export type Namings = readonly NameRule[]

/** The rules with this naming. Returns the same value if it says nothing new. */
export function withNaming(before: readonly Rule[], naming: NameRule): readonly Rule[] {
  const isSkill = isNamed(naming.on.source, naming.on.uri)
  const known = before.find(isSkill)
  const isKnown = known?.unverified === naming.unverified && known?.measured === naming.measured
  return known !== undefined && isKnown ? before : withRule(before, naming, isSkill)
}

/** The rules without the naming of a skill. Returns the same value if there is none. */
export function withoutNaming(before: readonly Rule[], source: SourceId, uri: string): readonly Rule[] {
  const isSkill = isNamed(source, uri)
  return before.some(isSkill) ? before.filter((rule) => !isSkill(rule)) : before
}

function isNamed(source: SourceId, uri: string): (rule: Rule) => rule is NameRule {
  return (rule): rule is NameRule => rule.effect === 'name' && rule.on.source === source && rule.on.uri === uri
}
