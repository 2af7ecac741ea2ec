/** The fields of Agent Skills. */
export const AGENT_SKILLS_FIELDS = [
  'name',
  'description',
  'license',
  'compatibility',
  'allowed-tools',
  'metadata',
] as const

/** The additional fields of Claude Code, in the order in which they are written. */
export const CLAUDE_CODE_FIELDS = [
  'when_to_use',
  'argument-hint',
  'arguments',
  'disable-model-invocation',
  'user-invocable',
  'disallowed-tools',
  'model',
  'effort',
  'context',
  'agent',
  'hooks',
  'paths',
  'shell',
] as const

/** The fields of prose, of which an author means every character. */
export const PROSE_FIELDS: ReadonlySet<string> = new Set([
  'description',
  'when_to_use',
  'license',
  'compatibility',
  'argument-hint',
])

/** The maximum length of a description in characters, by the Agent Skills specification. */
export const DESCRIPTION_CHARACTERS = 1024

/** The maximum length of `compatibility` in characters, by the Agent Skills specification. */
export const COMPATIBILITY_CHARACTERS = 500

/** A field that some client of skills knows. */
export type StandardField = (typeof AGENT_SKILLS_FIELDS)[number] | (typeof CLAUDE_CODE_FIELDS)[number]
