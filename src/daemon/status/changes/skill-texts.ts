import { isUtf8 } from 'node:buffer'
import { hunksOf } from '../../../base/text/text-diff.ts'
import { commandNotes } from '../../../sync/model/changes/shell-commands.ts'
import type { SkillChange } from '../../../sync/model/changes/skill-changes.ts'
import { reviewOf } from '../../../sync/model/changes/skill-review.ts'
import type { FileChange, FileDiff, FileHunk, SkillReview } from '../../../sync/model/changes/skill-review.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile } from '../../../sync/model/skill.ts'
import { Damaged } from '../../../sync/model/sync-error.ts'
import { storedSkill } from '../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../sync/store/store.ts'

/** The limits of the texts that are compared. */
export interface TextLimits {
  /** The size of one file, in bytes. */
  readonly fileBytes: number
  /** The lines of all files together. */
  readonly lines: number
}

/** For a person who decides: all that is no single huge file. */
export const WHOLE_TEXTS: TextLimits = { fileBytes: 2 ** 20, lines: Number.POSITIVE_INFINITY }

/** The texts of the versions of skills in the store. */
export class SkillTexts {
  readonly #store: Store | undefined
  readonly #limits: TextLimits
  #lines: number
  #known: Promise<ReadonlyMap<string, Skill>> | undefined
  #isWhole = true

  constructor(store: Store | undefined, limits = WHOLE_TEXTS) {
    this.#store = store
    this.#limits = limits
    this.#lines = limits.lines
  }

  /** False once a text was left out that a person could have read. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The change with its facts and, if wanted, the lines of each file that differs. */
  async review(change: SkillChange, sides: Partial<Sides>, withLines: boolean): Promise<SkillReview> {
    const before = sides.before ?? (await this.skill(change.from?.digest))
    const after = sides.after ?? (await this.skill(change.to?.digest))
    const review = reviewOf(change, before, after)
    if (!withLines) return review
    const notes = [...(await this.#commandNotes(before, after)), ...review.notes]
    const files = await Promise.all(review.files.map(async (file) => this.#withLines(file, { before, after })))
    return { ...review, notes, files }
  }

  /** The skill with this digest, of any snapshot in the store that has it. */
  async skill(digest: string | undefined): Promise<Skill | undefined> {
    if (digest === undefined) return undefined
    this.#known ??= this.#index()
    return (await this.#known).get(digest)
  }

  async #commandNotes(before: Skill | undefined, after: Skill | undefined): Promise<SkillReview['notes']> {
    if (after === undefined || before?.digest === after.digest) return []
    const [was, is] = [await this.#textOf(before, DOCUMENT), await this.#textOf(after, DOCUMENT)]
    return typeof is === 'string' ? commandNotes(typeof was === 'string' ? was : '', is) : []
  }

  async #withLines(file: FileChange, sides: Sides): Promise<SkillReview['files'][number]> {
    if (file.change === 'removed' || file.change === 'mode') return file
    const before = file.change === 'added' ? '' : await this.#textOf(sides.before, file.path)
    const after = await this.#textOf(sides.after, file.path)
    return { ...file, diff: await this.#diff(before, after) }
  }

  async #diff(before: Text, after: Text): Promise<FileDiff> {
    if (typeof after !== 'string') return after
    const hunks = typeof before === 'string' ? await hunksOf(before, after) : undefined
    const shown =
      hunks?.map(({ oldStart, newStart, lines }) => ({ from: oldStart, to: newStart, lines })) ?? wholeOf(after)
    const count = shown.reduce((sum, { lines }) => sum + lines.length, 0)
    if (count > this.#lines) return this.#leftOut(`${count} lines differ, too many to be shown here`)
    this.#lines -= count
    return { hunks: shown }
  }

  async #textOf(skill: Skill | undefined, path: string): Promise<Text> {
    const file = skill?.files.find((one) => one.path === path)
    if (skill === undefined || file === undefined) return ''
    if (file.size > this.#limits.fileBytes) return this.#leftOut(`it has ${file.size} bytes, too many to be shown here`)
    const bytes = await this.#bytesOf(skill, file)
    if (bytes === undefined) return this.#leftOut('the store does not have it')
    return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes).toString('utf8') : { why: 'it is no text' }
  }

  #leftOut(why: string): { readonly why: string } {
    this.#isWhole = false
    return { why }
  }

  async #bytesOf(skill: Skill, file: SkillFile): Promise<Uint8Array | undefined> {
    if (isOfUpstream(skill)) {
      const kept = await this.#store?.upstreams.read(skill.upstream.source, file)
      return kept?.kind === 'whole' ? kept.bytes : undefined
    }
    try {
      return await this.#store?.skills.read(storedSkill(skill), file)
    } catch (error) {
      if (error instanceof Damaged) return undefined
      throw error
    }
  }

  /** A lock identifies a version by its digest alone; its files are found through a snapshot that contains it. */
  async #index(): Promise<ReadonlyMap<string, Skill>> {
    const known = new Map<string, Skill>()
    for (const digest of (await this.#store?.snapshots.digests()) ?? []) {
      const snapshot = await this.#store?.snapshots.readWhole(digest)
      for (const skill of snapshot?.skills ?? []) if (skill.digest !== undefined) known.set(skill.digest, skill)
    }
    return known
  }
}

/** The two versions of a skill; `undefined` where there is none. */
interface Sides {
  readonly before: Skill | undefined
  readonly after: Skill | undefined
}

/** The text of a file, or the reason why there is none. */
type Text = string | { readonly why: string }

const DOCUMENT = 'SKILL.md'

/** All lines as added ones: of a new file, or of one that has too little in common with its earlier version. */
function wholeOf(text: string): readonly FileHunk[] {
  const lines = text.replace(/\n$/, '').split('\n')
  return [{ from: 0, to: 1, lines: lines.map((line) => `+${line}`) }]
}
