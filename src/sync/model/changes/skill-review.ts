import { z } from 'zod'
import type { Skill, SkillFile } from '../skill.ts'
import type { SkillChange } from './skill-changes.ts'
import { isProgram, notesOf } from './skill-notes.ts'
import type { SkillNote } from './skill-notes.ts'

/** A change of a skill with everything that a person needs to judge it. */
export interface SkillReview extends SkillChange {
  readonly name: string
  /** Facts about what the skill may do, and what is wrong with it; the critical ones first. */
  readonly notes: readonly SkillNote[]
  /** The files that differ, programs first. */
  readonly files: readonly FileReview[]
}

/** A change of the docs folder, from one digest of it to another. */
export const DOCS_CHANGE = z
  .object({
    change: z.enum(['added', 'changed', 'removed']),
    from: z.string().exactOptional(),
    to: z.string().exactOptional(),
  })
  .readonly()

export type DocsChange = z.infer<typeof DOCS_CHANGE>

/** The change with the files that differ. The notes are about hidden characters. */
export interface DocsReview extends DocsChange, Pick<SkillReview, 'notes' | 'files'> {}

/** A file that differs. `mode`: only whether it is executable. */
export interface FileChange {
  readonly path: string
  readonly change: 'added' | 'changed' | 'mode' | 'removed'
  /** True for a file that an agent may run. */
  readonly isProgram: boolean
  /** In bytes; that of the later version, if there is one. */
  readonly size: number
  readonly sha256: string
}

export interface FileReview extends FileChange {
  /** Absent if the text was not asked for, or there is nothing to compare. */
  readonly diff?: FileDiff
}

/** The lines that differ, or the reason why they are not here. */
export type FileDiff = { readonly hunks: readonly FileHunk[] } | { readonly why: string }

export interface FileHunk {
  /** The first line on both sides. */
  readonly from: number
  readonly to: number
  /** Each begins with a space, a plus or a minus. */
  readonly lines: readonly string[]
}

/** The change with its facts, without texts. `before` or `after` is `undefined` if there is none, or the store lacks it. */
export function reviewOf(change: SkillChange, before: Skill | undefined, after: Skill | undefined): SkillReview {
  const { path, from, to } = change
  return {
    ...change,
    name: to?.name ?? from?.name ?? after?.name ?? before?.name ?? path,
    notes: notesOf(before, after).toSorted((a, b) => Number(b.isCritical) - Number(a.isCritical)),
    files: to === undefined || after === undefined ? [] : fileChanges(before, after),
  }
}

/** The review without what can quote a text. */
export function withoutTexts<Review extends SkillReview | DocsReview>(review: Review): Review {
  return { ...review, notes: [], files: review.files.map(({ diff: _diff, ...file }) => file) }
}

/** The files that differ, programs first and then in the order of their paths. */
export function fileChanges(before: Reviewed | undefined, after: Reviewed | undefined): FileChange[] {
  const [old, now] = [filesIn(before), filesIn(after)]
  const changes = [...new Set([...old.keys(), ...now.keys()])].flatMap((path): FileChange[] => {
    const [was, is] = [old.get(path), now.get(path)]
    const [file, content] = is === undefined ? [was, before] : [is, after]
    const change = changeOf(was, is)
    if (file === undefined || content === undefined || change === undefined) return []
    return [{ path, change, isProgram: isProgram(file, content), size: file.size, sha256: file.sha256 }]
  })
  return programsFirst(changes)
}

export function programsFirst<File extends FileChange>(files: readonly File[]): File[] {
  return files.toSorted((a, b) => Number(b.isProgram) - Number(a.isProgram))
}

/** A skill, or the docs of a source. */
type Reviewed = Pick<Skill, 'files' | 'upstream'>

function changeOf(was: SkillFile | undefined, is: SkillFile | undefined): FileChange['change'] | undefined {
  if (was === undefined) return 'added'
  if (is === undefined) return 'removed'
  if (was.sha256 !== is.sha256) return 'changed'
  return was.executable === is.executable ? undefined : 'mode'
}

function filesIn(content: Reviewed | undefined): ReadonlyMap<string, SkillFile> {
  return new Map(content?.files.map((file) => [file.path, file]))
}
