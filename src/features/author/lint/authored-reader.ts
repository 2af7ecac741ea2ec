import { foldersAbove, isBelow, joinPath } from '../../../base/paths.ts'
import { lenientText } from '../../../base/text/lenient-text.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { Skill, SkillFile } from '../../../sync/model/skill.ts'
import type { TakenBlob, Tree, TreeEntry } from '../../../sync/model/tree.ts'
import { isMarkdown } from '../../../sync/skill/markdown/markdown-file.ts'
import { skillDocumentIn } from '../../../sync/survey/find-skills.ts'
import type { Rules } from '../../../sync/survey/survey-rules.ts'
import { writtenOf } from './document-positions.ts'
import type { Authored } from './lint-input.ts'

/** All skills of the survey, and its inputs. */
interface Surveyed {
  readonly skills: readonly Skill[]
  readonly rules: Rules
  readonly folder: string | undefined
}

/**
 * Reads the texts of surveyed skills from the blobs that the survey took: no path on the disk is followed a second
 * time.
 */
export class AuthoredReader {
  readonly #tree: Tree
  readonly #taken: ReadonlyMap<ObjectId, TakenBlob>
  readonly #surveyed: Surveyed
  readonly #folders: ReadonlySet<string>

  constructor(tree: Tree, taken: ReadonlyMap<ObjectId, TakenBlob>, surveyed: Surveyed) {
    this.#tree = tree
    this.#taken = taken
    this.#surveyed = surveyed
    this.#folders = new Set(surveyed.skills.map(({ path }) => path))
  }

  async read(skill: Skill): Promise<Authored> {
    const { rules, folder } = this.#surveyed
    const { path, frontmatter, files } = skill
    const entry = this.#documentOf(skill)
    const bytes = entry === undefined ? undefined : await this.#bytesOf(entry.id)
    const ownFiles = files.filter((file) => !this.#isOfInner(skill, file))
    return {
      path,
      folder,
      documentName: entry?.name ?? 'SKILL.md',
      document: bytes && writtenOf(bytes, rules.limits.frontmatter),
      frontmatter,
      files,
      ownFiles,
      texts: await this.#textsOf(ownFiles),
    }
  }

  /** A skill whose files cannot be served can still have a SKILL.md. */
  #documentOf({ path, files }: Skill): Pick<TreeEntry, 'name' | 'id'> | undefined {
    const named = files.filter((file) => /^skill\.md$/i.test(file.path))
    const served = named.find((file) => file.path === 'SKILL.md') ?? named[0]
    if (served !== undefined) return { name: served.path, id: served.blob }
    const folder = this.#folderAt(path)
    const entry = folder === undefined ? undefined : skillDocumentIn(this.#tree.list(folder))
    return entry?.kind === 'link' ? undefined : entry
  }

  /** `undefined` if a link is on the way. */
  #folderAt(path: string): ObjectId | undefined {
    let id = this.#tree.root
    for (const name of path === '' ? [] : path.split('/')) {
      const entry = this.#tree.list(id).find((candidate) => candidate.name === name)
      if (entry?.kind !== 'folder') return undefined
      id = entry.id
    }
    return id
  }

  #isOfInner(skill: Skill, file: SkillFile): boolean {
    const path = joinPath(skill.path, file.path)
    for (const folder of foldersAbove(path)) {
      if (!isBelow(folder, skill.path)) return false
      if (this.#folders.has(folder)) return true
    }
    return false
  }

  async #textsOf(files: readonly SkillFile[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>()
    for (const { path, blob, hidden } of files) {
      if (!isMarkdown(path) && hidden === undefined) continue
      const bytes = await this.#bytesOf(blob)
      if (bytes !== undefined) texts.set(path, lenientText(bytes).text)
    }
    return texts
  }

  async #bytesOf(blob: ObjectId): Promise<Uint8Array | undefined> {
    const taken = this.#taken.get(blob)
    if (taken?.kind !== 'blob') return undefined
    return this.#tree.bytesOf(taken)
  }
}
