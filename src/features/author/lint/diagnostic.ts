import type { Diagnostic } from '../../../base/diagnostic.ts'
import type { ContractCode } from '../../../sync/catalog/contract-diagnostics.ts'
import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import type { TextPosition } from './lines.ts'

/** All codes that diagnostics for a skill's author can have: those of a survey, and more. Stable, in kebab case. */
export type LintCode = SkillCode | ContractCode | AuthorCode

/** The codes for authors only: a server takes the skill as it is. */
export type AuthorCode =
  | 'withheld-by-default'
  | 'document-link-refused'
  | 'license-not-text'
  | 'allowed-tools-not-text'
  | 'allowed-tools-list'
  | 'tags-in-text'
  | 'lifecycle-invalid'
  | 'field-empty'
  | 'skeleton-text'
  | 'yaml-ambiguous'
  | 'yaml-number'
  | 'yaml-merge-key'
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

/** A diagnostic of `validate`. The severity and the mend are those of its code. */
export interface LintDiagnostic extends Diagnostic<LintCode> {
  /** The file, from the top of the validated tree. */
  readonly path: string
  readonly place: TextPosition
}
