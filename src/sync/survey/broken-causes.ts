import type { SkillCode, SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/**
 * True if the findings that keep a version from full service allow an earlier version in its place: a mistake of its
 * author is among them, and nothing that must take the skill out of service.
 */
export function areMistakes(causes: readonly SkillDiagnostic[]): boolean {
  return (
    causes.some(({ rule }) => ON_BROKEN[rule] === 'keep') && !causes.some(({ rule }) => ON_BROKEN[rule] === 'never')
  )
}

/** The findings among the causes that are mistakes of the author. */
export function mistakesAmong(causes: readonly SkillDiagnostic[]): readonly SkillDiagnostic[] {
  return causes.filter(({ rule }) => ON_BROKEN[rule] === 'keep')
}

/**
 * The effect of a rule that a new version breaks, with `on_broken: keep`. `keep`: the earlier version stays. `never`: the
 * skill is withheld, whatever else is wrong with it. `beside`: the rule alone keeps no version from service, or judges
 * what no repository has.
 */
export type BrokenEffect = 'keep' | 'never' | 'beside'

export const ON_BROKEN: Readonly<Record<SkillCode, BrokenEffect>> = {
  // The author wrote a SKILL.md that cannot be read, or lacks what it must have.
  'frontmatter-missing': 'keep',
  'frontmatter-unterminated': 'keep',
  'frontmatter-invalid': 'keep',
  'frontmatter-too-large': 'keep',
  'encoding-invalid': 'keep',
  'name-missing': 'keep',
  'name-invalid': 'keep',
  'description-missing': 'keep',
  'description-too-long': 'keep',
  'file-name-case': 'keep',
  // With `names: exact`, the author renamed the folder or the skill alone.
  'name-unlike-folder': 'keep',
  // The author added files that are too many, too large, missing, or not portable.
  'limit-files': 'keep',
  'limit-bytes': 'keep',
  'lfs-pointer': 'keep',
  'path-collision': 'keep',
  'path-refused': 'keep',
  // SKILL.md became a link that leads nowhere or out of the skill. Nothing is read through it.
  'link-refused': 'keep',
  // The author broke the block of a skill that satisfied the contract. The earlier version still satisfies it.
  'contract-violated': 'keep',
  // Only text that smuggles, reorders or conceals withholds a skill: an attack, until a person has read it.
  'hidden-unicode': 'never',
  // Other skills of the commit decide these: they own the URI, or contain the folder.
  'name-clash': 'never',
  'nested-skill': 'never',
  // Notes: the version is served with them.
  'frontmatter-unquoted': 'beside',
  'yaml-comment': 'beside',
  'description-padded': 'beside',
  'metadata-not-text': 'beside',
  'compatibility-invalid': 'beside',
  'field-refused': 'beside',
  'unrendered-text': 'beside',
  'look-alike-letters': 'beside',
  'lfs-left-out': 'beside',
  submodule: 'beside',
  'contract-noted': 'beside',
  // The version is served as it was, for this reason.
  'not-read': 'beside',
  'kept-version': 'beside',
  // They are about no skill.
  'skill-ignored': 'beside',
  'docs-missing': 'beside',
  'marketplace-unread': 'beside',
  'marketplace-differs': 'beside',
  'plugin-refused': 'beside',
  // They are about listings of MCP servers, which have no earlier commits.
  'archive-refused': 'beside',
  'entry-refused': 'beside',
  'listing-incomplete': 'beside',
  'no-answer-for-entry': 'beside',
  'size-unknown': 'beside',
  'not-verifiable': 'beside',
  'content-mismatch': 'beside',
}
