import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import type { ObjectId } from './revision.ts'
import type { SkillFile } from './skill.ts'

/** The Markdown files of a source's docs folder, in one revision. */
export interface Docs {
  readonly kind: 'docs'
  /** Sorted by raw path bytes; paths are relative to the docs folder. */
  readonly files: readonly DocFile[]
  /** `digestOf(files)`, 64 hex digits. */
  readonly digest: string
  /** Total of the file sizes, in bytes. */
  readonly size: number
}

/** A Markdown file of a docs folder. */
export interface DocFile extends SkillFile {
  /** The final target of a link, relative to the docs folder. */
  readonly target?: string
}

/** The docs folder of a revision, with or without served docs. */
export interface DocsFolder {
  /**
   * Its tree: an equal id in a later commit means the same docs, which are then not read. `undefined` if the revision
   * has no such folder.
   */
  readonly tree?: ObjectId
  /**
   * The parts that are left out, and the reasons. Paths are relative to the repository's root, since the folder may be
   * outside of the source's root.
   */
  readonly findings: readonly SkillDiagnostic[]
}
