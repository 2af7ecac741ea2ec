import { isUtf8 } from 'node:buffer'
import { joinPath } from '../../../base/paths.ts'
import { hunksOf } from '../../../base/text/text-diff.ts'
import { commandNotes } from '../../../sync/model/changes/shell-commands.ts'
import type { SkillChange } from '../../../sync/model/changes/skill-changes.ts'
import { criticalNote, hiddenNotes } from '../../../sync/model/changes/skill-notes.ts'
import type { SkillNote } from '../../../sync/model/changes/skill-notes.ts'
import { fileChanges, programsFirst, reviewOf } from '../../../sync/model/changes/skill-review.ts'
import type {
  DocsChange,
  DocsReview,
  FileChange,
  FileDiff,
  FileHunk,
  FileReview,
  SkillReview,
} from '../../../sync/model/changes/skill-review.ts'
import type { Docs } from '../../../sync/model/docs-folder.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../../sync/model/skill.ts'
import { Damaged } from '../../../sync/model/sync-error.ts'
import { storedOf } from '../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../sync/store/store.ts'
import { hiddenInText } from '../../../sync/survey/listing-hidden-text.ts'

/** The limits of the texts that are compared. */
export interface TextLimits {
  /** The size of one file, in bytes. */
  readonly fileBytes: number
  /** The lines of all files together. */
  readonly lines: number
}

/** For a person who decides: all that is no single huge file. */
export const WHOLE_TEXTS: TextLimits = { fileBytes: 2 ** 20, lines: Number.POSITIVE_INFINITY }

/** The texts of the versions of skills and docs in the store. */
export class SkillTexts {
  readonly #store: Store | undefined
  readonly #limits: TextLimits
  #lines: number
  #known: Promise<Known> | undefined
  readonly #notShown = new Set<string>()

  constructor(store: Store | undefined, limits = WHOLE_TEXTS) {
    this.#store = store
    this.#limits = limits
    this.#lines = limits.lines
  }

  /** The places of what was not shown although a person should see it: texts, and programs of any kind. */
  get notShown(): readonly string[] {
    return [...this.#notShown]
  }

  /** The change with its facts and, if wanted, the lines of each file that differs. */
  async review(change: SkillChange, sides: Partial<Sides<Skill>>, withLines: boolean): Promise<SkillReview> {
    const before = sides.before ?? (await this.skill(change.from?.digest))
    const known = sides.after ?? (await this.skill(change.to?.digest))
    const after = withLines && known !== undefined && isOfUpstream(known) ? await this.#searched(known) : known
    if (isUnknown(change, { before, after }))
      return { ...reviewOf(change, undefined, undefined), notes: [this.#unknown(change.path)] }
    const review = reviewOf(change, before, after)
    if (!withLines) return review
    const notes = [...(await this.#commandNotes(before, after)), ...review.notes]
    return { ...review, notes, files: await this.#filesWithLines(review.files, change.path, { before, after }) }
  }

  /** The change of the docs with the files that differ and, if wanted, their lines. */
  async reviewDocs(change: DocsChange, sides: Partial<Sides<Docs>>, withLines: boolean): Promise<DocsReview> {
    const before = sides.before ?? (await this.#docs(change.from))
    const after = sides.after ?? (await this.#docs(change.to))
    if (isUnknown(change, { before, after })) return { ...change, notes: [this.#unknown(DOCS)], files: [] }
    if (after === undefined) return { ...change, notes: [], files: [] }
    const files = fileChanges(before, after)
    return {
      ...change,
      notes: hiddenNotes(before, after),
      files: withLines ? await this.#filesWithLines(files, DOCS, { before, after }) : files,
    }
  }

  /** The skill with this digest, of any snapshot in the store that has it. */
  async skill(digest: string | undefined): Promise<Skill | undefined> {
    if (digest === undefined) return undefined
    this.#known ??= this.#index()
    return (await this.#known).skills.get(digest)
  }

  async #docs(digest: string | undefined): Promise<Docs | undefined> {
    if (digest === undefined) return undefined
    this.#known ??= this.#index()
    return (await this.#known).docs.get(digest)
  }

  /** A skill of an MCP server with what its stored texts hide: a declaration does not tell. */
  async #searched(skill: UpstreamSkill): Promise<Skill> {
    const files = skill.files.map(async (file): Promise<SkillFile> => {
      const bytes = await this.#read(skill, file.path)
      const hidden = 'why' in bytes ? undefined : hiddenInText(file, bytes)
      return hidden === undefined ? file : { ...file, hidden }
    })
    return { ...skill, files: await Promise.all(files) }
  }

  #unknown(place: string): SkillNote {
    this.#notShown.add(place)
    return criticalNote('a version of it is not known here, so none of its files is shown:', [place])
  }

  async #commandNotes(before: Skill | undefined, after: Skill | undefined): Promise<SkillReview['notes']> {
    if (after === undefined || before?.digest === after.digest) return []
    const [was, is] = [await this.#textOf(before, DOCUMENT), await this.#textOf(after, DOCUMENT)]
    return is === undefined ? [] : commandNotes(was ?? '', is)
  }

  async #filesWithLines(
    files: readonly FileChange[],
    place: string,
    sides: Sides<Skill | Docs>,
  ): Promise<readonly FileReview[]> {
    return programsFirst(await Promise.all(files.map(async (file) => this.#withLines(file, place, sides))))
  }

  async #withLines(file: FileChange, place: string, { before, after }: Sides<Skill | Docs>): Promise<FileReview> {
    if (file.change === 'removed' || (file.change === 'mode' && !file.isProgram)) return file
    const leftOut = (why: string): FileDiff => {
      this.#notShown.add(joinPath(place, file.path))
      return { why }
    }
    const bytes = await this.#read(after, file.path)
    if ('why' in bytes) return { ...file, diff: leftOut(bytes.why) }
    const text = textIn(bytes)
    const isProgram = file.isProgram || beginsAsProgram(bytes, text)
    if (text === undefined) return { ...file, isProgram, diff: withoutLines(bytes, { ...file, isProgram }, leftOut) }
    if (file.change === 'mode') return file
    const was = file.change === 'added' ? '' : await this.#textOf(before, file.path)
    return { ...file, isProgram, diff: await this.#diff(was, text, leftOut) }
  }

  async #diff(before: string | undefined, after: string, leftOut: (why: string) => FileDiff): Promise<FileDiff> {
    const hunks = before === undefined ? undefined : await hunksOf(before, after)
    const shown =
      hunks?.map(({ oldStart, newStart, lines }) => ({ from: oldStart, to: newStart, lines })) ?? wholeOf(after)
    const count = shown.reduce((sum, { lines }) => sum + lines.length, 0)
    if (count > this.#lines) return leftOut(`${count} lines differ, too many to be shown here`)
    this.#lines -= count
    return { hunks: shown }
  }

  /** `undefined` if it is no text, or cannot be shown; empty if there is no such file. */
  async #textOf(content: Skill | Docs | undefined, path: string): Promise<string | undefined> {
    if (content?.files.some((file) => file.path === path) !== true) return ''
    const bytes = await this.#read(content, path)
    return 'why' in bytes ? undefined : textIn(bytes)
  }

  async #read(content: Skill | Docs | undefined, path: string): Promise<Uint8Array | { readonly why: string }> {
    const file = content?.files.find((one) => one.path === path)
    if (content === undefined || file === undefined) throw new TypeError(`Nothing compared has the file "${path}"`)
    if (file.size > this.#limits.fileBytes) return { why: `it has ${file.size} bytes, too many to be shown here` }
    return (await this.#bytesOf(content, file)) ?? { why: 'the store does not have it' }
  }

  async #bytesOf(content: Skill | Docs, file: SkillFile): Promise<Uint8Array | undefined> {
    if (isOfUpstream(content)) {
      const kept = await this.#store?.upstreams.read(content.upstream.source, file)
      return kept?.kind === 'whole' ? kept.bytes : undefined
    }
    try {
      return await this.#store?.skills.read(storedOf(content), file)
    } catch (error) {
      if (error instanceof Damaged) return undefined
      throw error
    }
  }

  /** A lock identifies a version by its digest alone; its files are found through a snapshot that contains it. */
  async #index(): Promise<Known> {
    const known = { skills: new Map<string, Skill>(), docs: new Map<string, Docs>() }
    for (const digest of (await this.#store?.snapshots.digests()) ?? []) {
      const snapshot = await this.#store?.snapshots.readWhole(digest)
      for (const skill of snapshot?.skills ?? []) if (skill.digest !== undefined) known.skills.set(skill.digest, skill)
      if (snapshot?.docs !== undefined) known.docs.set(snapshot.docs.digest, snapshot.docs)
    }
    return known
  }
}

/** The contents of all snapshots in the store, by their digests. */
interface Known {
  readonly skills: ReadonlyMap<string, Skill>
  readonly docs: ReadonlyMap<string, Docs>
}

/** The two versions; `undefined` where there is none. */
interface Sides<Content> {
  readonly before: Content | undefined
  readonly after: Content | undefined
}

/** True if a version is not here that the other one would be compared with. Of what is gone there is nothing to show. */
function isUnknown(change: Pick<SkillChange | DocsChange, 'from' | 'to'>, { before, after }: Sides<unknown>): boolean {
  return after === undefined ? change.to !== undefined : before === undefined && change.from !== undefined
}

const DOCUMENT = 'SKILL.md'
const DOCS = 'the docs folder'

function textIn(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes).toString('utf8') : undefined
}

/** True for a script that names its interpreter, and for the formats that systems run: ELF, PE, Mach-O, WebAssembly. */
function beginsAsProgram(bytes: Uint8Array, text: string | undefined): boolean {
  if (text !== undefined) return text.startsWith('#!')
  const head = Buffer.from(bytes.subarray(0, 4)).toString('hex')
  return /^(?:2321|4d5a|7f454c46|feedfac[ef]|c[ef]faedfe|cafebabe|0061736d)/.test(head)
}

/**
 * No person judges an image, a font or an archive by its bytes. A program is what a person approves, and what an agent may
 * read as a text is one with a few odd bytes.
 */
function withoutLines(
  bytes: Uint8Array,
  { path, isProgram }: Pick<FileChange, 'path' | 'isProgram'>,
  leftOut: (why: string) => FileDiff,
): FileDiff {
  if (isProgram) return leftOut('it is a program and no text')
  const head = Buffer.from(bytes.subarray(0, 8)).toString('hex')
  const isMedia = MEDIA_NAMES.test(path) && MEDIA.test(head)
  return isMedia ? { why: 'it is no text' } : leftOut('it has bytes that are no text')
}

const MEDIA_NAMES =
  /\.(?:png|jpe?g|gif|webp|ico|pdf|zip|gz|tgz|docx|xlsx|pptx|odt|ods|odp|woff2?|ttf|otf|mp3|mp4|m4a|mov|ogg|wav)$/i

/** The first bytes, in hex, of PNG, JPEG, GIF, RIFF, ICO, PDF, ZIP, gzip, fonts, MP4, Ogg and MP3. */
const MEDIA =
  /^(?:89504e47|ffd8ff|47494638|52494646|00000100|255044462d|504b0304|1f8b|774f46(?:46|32)|4f54544f|00010000|.{8}66747970|4f676753|494433)/

/** All lines as added ones: of a new file, or of one that has too little in common with its earlier version. */
function wholeOf(text: string): readonly FileHunk[] {
  const lines = text.replace(/\n$/, '').split('\n')
  return [{ from: 0, to: 1, lines: lines.map((line) => `+${line}`) }]
}
