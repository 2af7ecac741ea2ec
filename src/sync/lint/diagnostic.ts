import type { FindingRule } from '../skill-md/finding.ts'
import type { Place } from './position.ts'

/** Everything that can be said of a skill to its author: what a survey says, and more. Stable, in kebab case. */
export type Rule = FindingRule | ContractRule | AuthorRule

/** What the frontmatter contract asks, by itself and among the skills that are looked at together. */
export type ContractRule =
  | 'contract-violated'
  | 'contract-noted'
  | 'id-clash'
  | 'dependency-missing'
  | 'dependency-cycle'

/** What only authors are told: whoever serves a skill takes it as it is. */
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

/** One thing that is wrong with a skill, and where. */
export interface Flaw {
  readonly rule: Rule
  /** The file, from the top of what was looked at. */
  readonly path: string
  readonly place: Place
  /** What is the case, with the values. */
  readonly message: string
}

/** What is to be known of a rule besides its name. */
export interface RuleSheet {
  /** `error`: a standard or the contract is broken, or the skill would not be served. */
  readonly severity: 'error' | 'warning'
  readonly by: Authority
  /** What is wrong, in general. */
  readonly says: string
  readonly mend: string
}

/**
 * Who objects. `spec`: the Agent Skills specification. `skills-ref`: its reference validator, where that is stricter than
 * the text. `contract`: the frontmatter contract. `skillsyncd`: this program, as it serves skills or gives advice.
 */
export type Authority = 'spec' | 'skills-ref' | 'contract' | 'skillsyncd'
