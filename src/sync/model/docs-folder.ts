import type { Finding } from '../skill-md/finding.ts'
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
  /** What a link leads to in the end, relative to the docs folder. Not in snapshots of before it was kept. */
  readonly target?: string
}

/** The docs folder of a revision, whatever came of it. */
export interface DocsFolder {
  /** Its tree: an equal id in a later commit means the same docs, unread. Undefined where the revision has no such folder. */
  readonly tree?: ObjectId
  /** What is left out, and why. Their paths are from the repository's root, since the folder may lie outside of the source's. */
  readonly findings: readonly Finding[]
}
