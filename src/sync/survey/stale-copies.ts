import type { DocFile, Docs } from '../model/docs-folder.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import { Damaged } from '../model/sync-error.ts'
import type { DocumentReading } from '../skill/document-reader.ts'
import { hasYamlEscapes, hiddenInEscapes, hiddenInFile } from '../skill/hidden-unicode.ts'
import type { HiddenText } from '../skill/hidden-unicode.ts'
import { isLfsPointer } from '../skill/lfs.ts'
import type { Earlier } from './earlier-snapshot.ts'
import { judgeSkill } from './read-skill.ts'
import type { BlobContent, KnownContent, ResolvedFile } from './read-skill.ts'
import type { Rules } from './survey-rules.ts'

/** The docs that may replace unreadable ones, with their content. */
export interface StandInDocs {
  readonly files: readonly DocFile[]
  readonly contents: ReadonlyMap<ObjectId, KnownContent>
}

/**
 * Provides served content for what cannot be read at this check: a fault that may pass takes nothing out of service,
 * whatever else was edited or damaged meanwhile. It provides only undamaged content of the store, as the current rules
 * judge it.
 */
export class StaleCopies {
  readonly #served: Earlier | undefined
  readonly #rules: Rules
  readonly #isReliedOn: boolean
  readonly #read: ReadDocument

  /** `isReliedOn`: it has the same rules, and no known damage. */
  constructor(served: Earlier | undefined, rules: Rules, isReliedOn: boolean, read: ReadDocument) {
    this.#served = served
    this.#rules = rules
    this.#isReliedOn = isReliedOn
    this.#read = read
  }

  /** The skills that can replace others. Withheld skills have no files in the store. */
  get skills(): readonly Skill[] {
    if (this.#served === undefined || !this.#isAtRoot('skills', this.#rules.selection.root)) return []
    return this.#served.snapshot.skills.filter(({ standing }) => standing !== 'withheld')
  }

  /** One of these skills, judged again. `undefined` if it is damaged too, or if the current rules withhold it. */
  async again(skill: Skill): Promise<Skill | undefined> {
    if (this.#isReliedOn) return skill
    const contents = new Map<ObjectId, KnownContent>()
    const escapes = new Map<string, HiddenText>()
    let document: Judged['document'] | undefined
    for (const file of skill.files) {
      const bytes = await this.#bytesOf(skill, file)
      if (bytes === undefined) return undefined
      contents.set(file.blob, contentIn(bytes, file))
      const hidden = hasYamlEscapes(file) ? hiddenInEscapes(bytes) : undefined
      if (hidden !== undefined) escapes.set(file.path, hidden)
      if (file.path === DOCUMENT) document = { id: file.blob, bytes }
    }
    const judged = document && (await this.#judge(skill, { document, contents, escapes }))
    return judged?.standing === 'withheld' ? undefined : judged
  }

  async docs(): Promise<StandInDocs> {
    const contents = new Map<ObjectId, KnownContent>()
    const docs = this.#isAtRoot('docs', this.#rules.selection.docs) ? this.#served?.snapshot.docs : undefined
    const files: DocFile[] = []
    for (const file of docs?.files ?? []) {
      const content = this.#isReliedOn ? knownContent(file) : await this.#contentOf(docs, file)
      if (content === undefined) continue
      contents.set(file.blob, content)
      files.push(file)
    }
    return { files, contents }
  }

  /** Paths below another root mean other files. */
  #isAtRoot(which: 'skills' | 'docs', root: string | undefined): boolean {
    return this.#isReliedOn || (root !== undefined && this.#served?.snapshot.roots?.[which] === root)
  }

  async #judge(skill: Skill, { document: { id, bytes }, contents, escapes }: Judged): Promise<Skill> {
    const { selection, limits } = this.#rules
    const files = skill.files.map(resolvedAgain)
    // The files have no data about links.
    const findings = skill.findings.filter(({ rule }) => rule === 'link-refused' || rule === 'submodule')
    const document = { documentName: DOCUMENT, document: { id } }
    const candidate = { path: skill.path, ...document, files, unusable: [], findings }
    const contentOf = (blob: ObjectId): BlobContent => contents.get(blob) ?? { kind: 'refused', reason: 'absent' }
    const reading = { contentOf, document: await this.#read(bytes), escapes, policy: selection, limits }
    return judgeSkill(candidate, reading).skill
  }

  async #contentOf(docs: Docs | undefined, file: SkillFile): Promise<KnownContent | undefined> {
    const bytes = docs && (await this.#bytesOf(docs, file))
    return bytes && contentIn(bytes, file)
  }

  async #bytesOf(stored: Skill | Docs, { path }: SkillFile): Promise<Uint8Array | undefined> {
    try {
      return await this.#served?.read(stored, path)
    } catch (error) {
      if (error instanceof Damaged) return undefined
      throw error
    }
  }
}

type ReadDocument = (bytes: Uint8Array) => Promise<DocumentReading>

interface Judged {
  readonly document: { readonly id: ObjectId; readonly bytes: Uint8Array }
  readonly contents: ReadonlyMap<ObjectId, KnownContent>
  readonly escapes: ReadonlyMap<string, HiddenText>
}

/** A skill with another file name is withheld, so served ones have this name. */
const DOCUMENT = 'SKILL.md'

/** A stored file in the form in which a survey finds one. */
export function resolvedAgain({ path, blob, executable, link }: SkillFile): ResolvedFile {
  return { path, id: blob, executable, link: link === true }
}

function knownContent({ size, sha256, hidden }: SkillFile): KnownContent {
  return { kind: 'known', size, sha256, isLfsPointer: false, hidden }
}

function contentIn(bytes: Uint8Array, { size, sha256 }: SkillFile): KnownContent {
  return { kind: 'known', size, sha256, isLfsPointer: isLfsPointer(bytes), hidden: hiddenInFile(bytes) }
}
