/** The fields of Agent Skills. */
export const AGENT_SKILLS_FIELDS = [
  'name',
  'description',
  'license',
  'compatibility',
  'allowed-tools',
  'metadata',
] as const

/** The fields that Claude Code has besides, in the order in which they are written. */
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

/** A field that some client of skills knows. */
export type StandardField = (typeof AGENT_SKILLS_FIELDS)[number] | (typeof CLAUDE_CODE_FIELDS)[number]
