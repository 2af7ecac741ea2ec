/** Something about one path of one revision that a person should know. Never an error: the rest is served. */
export interface Finding {
  /** The rule, in kebab case, stable: `frontmatter-missing`, `name-unlike-folder`, … */
  readonly rule: FindingRule
  /** Relative to the source's root; a skill's folder or a file. In the docs folder: relative to the repository's. */
  readonly path: string
  /** What is the case, with the values; and the mend where there is one. */
  readonly message: string
}

export type FindingRule =
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
