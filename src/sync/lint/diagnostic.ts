import type { FindingRule } from '../skill-md/skill-diagnostic.ts'
import type { TextPosition } from './position.ts'

/** All rules that diagnostics for a skill's author can have: those of a survey, and more. Stable, in kebab case. */
export type Rule = FindingRule | ContractRule | AuthorRule

/** The rules of the frontmatter contract, for one skill and between the skills that are validated together. */
export type ContractRule =
  | 'contract-violated'
  | 'contract-noted'
  | 'id-clash'
  | 'dependency-missing'
  | 'dependency-cycle'

/** The rules for authors only: a server takes the skill as it is. */
export type AuthorRule =
  | 'withheld-by-default'
  | 'document-link-refused'
  | 'license-not-text'
  | 'allowed-tools-not-text'
  | 'allowed-tools-list'
  | 'tags-in-text'
  | 'field-empty'
  | 'yaml-ambiguous'
  | 'yaml-number'
  | 'yaml-merge-key'
  | 'yaml-comment'
  | 'yaml-tag'
  | 'yaml-subset'
  | 'description-no-when'
  | 'description-short'
  | 'body-long'
  | 'body-tokens'
  | 'link-leaves-skill'
  | 'link-target-missing'
  | 'folder-name'
  | 'script-outside-scripts'
  | 'script-in-references'
  | 'text-in-scripts'
  | 'unknown-field'
  | 'flow-style'
  | 'byte-order-mark'
  | 'dashes-in-frontmatter'

/** One fault of a skill, and its place. */
export interface Flaw {
  readonly rule: Rule
  /** The file, from the top of the validated tree. */
  readonly path: string
  readonly place: TextPosition
  /** The problem, with the values. */
  readonly message: string
}

/** The description of a rule. */
export interface RuleSheet {
  /** `error`: a standard or the contract is violated, or the skill would not be served. */
  readonly severity: 'error' | 'warning'
  readonly by: Authority
  /** The problem in general. */
  readonly says: string
  readonly mend: string
}

/**
 * The authority behind a rule. `spec`: the Agent Skills specification. `skills-ref`: its reference validator, if that
 * is stricter than the text. `contract`: the frontmatter contract. `skillsyncd`: this program, as it serves skills or
 * gives advice.
 */
export type Authority = 'spec' | 'skills-ref' | 'contract' | 'skillsyncd'
