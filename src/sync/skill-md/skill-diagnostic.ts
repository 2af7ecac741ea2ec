/** A note for people about one path of one revision. Never an error: the rest is served. */
export interface SkillDiagnostic {
  /** The stable name of the rule, in kebab case: `frontmatter-missing`, `name-unlike-folder`, … */
  readonly rule: SkillCode
  /**
   * The path of a skill's folder or of a file, relative to the source's root; in the docs folder, relative to the
   * repository's root.
   */
  readonly path: string
  /** The problem, with the values, and the fix if there is one. */
  readonly message: string
}

export type SkillCode =
  | 'frontmatter-missing'
  | 'frontmatter-unterminated'
  | 'frontmatter-invalid'
  | 'frontmatter-unquoted'
  | 'frontmatter-too-large'
  | 'encoding-invalid'
  | 'name-missing'
  | 'name-invalid'
  | 'name-unlike-folder'
  | 'name-clash'
  | 'nested-skill'
  | 'description-missing'
  | 'description-too-long'
  | 'description-padded'
  | 'metadata-not-text'
  | 'compatibility-invalid'
  | 'field-refused'
  | 'hidden-unicode'
  | 'unrendered-text'
  | 'look-alike-letters'
  | 'file-name-case'
  | 'limit-files'
  | 'limit-bytes'
  | 'link-refused'
  | 'submodule'
  | 'lfs-pointer'
  | 'lfs-left-out'
  | 'path-collision'
  | 'path-refused'
  | 'not-read'
  | 'archive-refused'
  | 'contract-violated'
  | 'contract-noted'
  | 'docs-missing'
  | 'entry-refused'
  | 'listing-incomplete'
  | 'size-unknown'
  | 'not-verifiable'
  | 'content-mismatch'
