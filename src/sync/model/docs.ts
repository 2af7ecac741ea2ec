import type { SkillFile } from './skill.ts'

/** The Markdown files of a source's docs folder, in one revision. */
export interface Docs {
  readonly kind: 'docs'
  /** Sorted by raw path bytes; paths are relative to the docs folder. */
  readonly files: readonly SkillFile[]
  /** `digestOf(files)`, 64 hex digits. */
  readonly digest: string
  /** Total of the file sizes, in bytes. */
  readonly size: number
}
