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

/** The path from the top of a frontmatter to a key or a list entry. */
export type FrontmatterPath = readonly PropertyKey[]

/** The part of a file that a diagnostic is about: its text itself, or a field of its frontmatter. */
export type DiagnosticSubject = { readonly kind: 'text' } | { readonly kind: 'field'; readonly keys: FrontmatterPath }

/**
 * The diagnostic, with its subject known as long as this object lives. Only a caller that surveys gets the subject: no
 * stored form, no output and no copy of the diagnostic has it.
 */
export function diagnosticAbout(subject: DiagnosticSubject, diagnostic: SkillDiagnostic): SkillDiagnostic {
  SUBJECTS.set(diagnostic, subject)
  return diagnostic
}

/** The subject of a diagnostic that was just created; `undefined` if it has none, or was stored. */
export function subjectOf(diagnostic: SkillDiagnostic): DiagnosticSubject | undefined {
  return SUBJECTS.get(diagnostic)
}

const SUBJECTS = new WeakMap<SkillDiagnostic, DiagnosticSubject>()

export type SkillCode =
  | 'frontmatter-missing'
  | 'frontmatter-unterminated'
  | 'frontmatter-invalid'
  | 'frontmatter-unquoted'
  | 'frontmatter-too-large'
  | 'yaml-comment'
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
  | 'skill-ignored'
  | 'kept-version'
  | 'archive-refused'
  | 'contract-violated'
  | 'contract-noted'
  | 'docs-missing'
  | 'marketplace-unread'
  | 'marketplace-differs'
  | 'plugin-refused'
  | 'entry-refused'
  | 'listing-incomplete'
  | 'no-answer-for-entry'
  | 'size-unknown'
  | 'not-verifiable'
  | 'content-mismatch'
