import { baseName, isBelow, joinPath, relativeTo } from '../../base/paths.ts'
import { digestOf, inPathOrder } from '../model/digest.ts'
import type { DocFile, Docs, DocsFolder } from '../model/docs-folder.ts'
import type { ObjectId } from '../model/revision.ts'
import type { SkillLimits } from '../model/skill.ts'
import type { Selection } from '../model/source.ts'
import { mayPass, type RefusedBlob, type Tree } from '../model/tree.ts'
import { contractUri, readContractUri } from '../model/uris/contract-uri.ts'
import { hiddenIn } from '../skill/hidden-unicode.ts'
import type { HiddenText } from '../skill/hidden-unicode.ts'
import type { SkillDiagnostic, SkillCode } from '../skill/skill-diagnostic.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'
import { docsTree, findDocs } from './find-docs.ts'
import type { FoundDocs } from './find-docs.ts'
import type { FoundLink } from './find-skills.ts'
import { judgeHidden } from './hidden-diagnostics.ts'
import { LinkPlaces, follow } from './link-places.ts'
import { LinkTexts, linkDiagnostic } from './link-resolver.ts'
import { contentRefusal, lfsDiagnostic, twinOf } from './read-skill.ts'
import type { BlobContent, ResolvedFile } from './read-skill.ts'
import { resolvedAgain } from './stale-copies.ts'

/** The limits of a docs folder. Above them nothing of it is served, not even a part. */
export const DOCS_LIMITS: SkillLimits = { files: 5_000, bytes: 2 ** 26 }

/** The data of a snapshot about the docs folder. */
export interface SurveyedDocs {
  readonly docs?: Docs
  readonly docsFolder: DocsFolder
}

/** The inputs for reading a docs folder. */
export interface DocsReading {
  readonly tree: Tree
  /** From the repository's root. */
  readonly folder: string
  readonly policy: Pick<Selection, 'lfs' | 'hiddenUnicode'>
  /** The earlier result by the same rules. */
  readonly earlier: Partial<SurveyedDocs> | undefined
  /** Served files that may replace unreadable ones. After this call, `contentOf` knows their content. */
  standIns(): Promise<readonly DocFile[]>
  /** Fetches the blobs that are not known yet. */
  take(blobs: readonly ObjectId[]): Promise<void>
  contentOf(blob: ObjectId): BlobContent
  /** The size limit of a single file. */
  readonly fileBytes: number
}

/**
 * Collects the Markdown files of the docs folder. A file that cannot be served is left out and reported, and its
 * neighbors stay; a commit without the folder has no docs. A folder with an unchanged tree id is reused unread.
 */
export async function surveyDocs(reading: DocsReading, signal: AbortSignal): Promise<SurveyedDocs> {
  const id = docsTree(reading.tree, reading.folder)
  const { docs, docsFolder } = reading.earlier ?? {}
  const survey = new DocsSurvey(reading)
  if (typeof id !== 'string') {
    const files = id.rule === 'not-read' ? await survey.standIns() : []
    return { ...docsOf(files), docsFolder: { findings: boundFindings([id, ...survey.findings], reading.folder) } }
  }
  if (docsFolder?.tree === id) return { ...(docs !== undefined && { docs }), docsFolder }
  const files = await survey.filesOf(findDocs(reading.tree, reading.folder, id), signal)
  return { ...docsOf(files), docsFolder: { tree: id, findings: boundFindings(survey.findings, reading.folder) } }
}

function docsOf(files: readonly DocFile[]): { readonly docs?: Docs } {
  if (files.length === 0) return {}
  const size = files.reduce((sum, file) => sum + file.size, 0)
  return { docs: { kind: 'docs', files, digest: digestOf(files), size } }
}

/** A folder may contain thousands of files, and each may have a fault. */
const MOST_FINDINGS = 64

function boundFindings(findings: readonly SkillDiagnostic[], folder: string): readonly SkillDiagnostic[] {
  return firstDiagnostics(inPathOrder(findings), MOST_FINDINGS, (left) => {
    return { path: folder, message: `${left} more findings in the docs folder are left out` }
  })
}

/** A file whose bytes are not fetched yet. */
interface ResolvedDoc extends ResolvedFile, Pick<DocFile, 'target'> {}

class DocsSurvey {
  readonly findings: SkillDiagnostic[] = []
  readonly #reading: DocsReading
  #before: Promise<readonly DocFile[]> | undefined

  constructor(reading: DocsReading) {
    this.#reading = reading
  }

  /** The served files of the folder, sorted by path. */
  async filesOf(found: FoundDocs, signal: AbortSignal): Promise<DocFile[]> {
    this.findings.push(...found.findings)
    const { folder } = this.#reading
    if (found.files.length + found.links.length > DOCS_LIMITS.files) {
      this.#note(
        'limit-files',
        folder,
        `The docs folder has more Markdown files than the limit of ${DOCS_LIMITS.files}`,
      )
      return []
    }
    const files: ResolvedDoc[] = found.files.map((file) => ({ ...file, link: false }))
    const unread = await this.#standInsFor(found.unread)
    const candidates = inPathOrder([...files, ...(await this.#linkTargets(found.links, signal)), ...unread])
    if (await this.#fits(candidates)) return this.#filesToServe(candidates)
    this.#note('limit-bytes', folder, `The docs folder holds more than the limit of ${DOCS_LIMITS.bytes} bytes`)
    return []
  }

  /** All served files, if the folder cannot be read. */
  async standIns(): Promise<DocFile[]> {
    return this.#filesToServe((await this.#standIns()).map(docAgain))
  }

  #standIns(): Promise<readonly DocFile[]> {
    this.#before ??= this.#reading.standIns()
    return this.#before
  }

  /** A fault that may pass takes nothing out of service: an unreadable place keeps its earlier files. */
  async #standInsFor(places: readonly FoundLink[]): Promise<ResolvedDoc[]> {
    await this.#reading.take(places.map(({ id }) => id))
    const found: ResolvedDoc[] = []
    for (const { path, id } of places) {
      const content = this.#reading.contentOf(id)
      if (content.kind !== 'refused') continue
      this.#refuse(path, content)
      const before = mayPass(content.reason) ? await this.#standIns() : []
      found.push(...before.filter((file) => isBelow(file.path, path)).map(docAgain))
    }
    return found
  }

  /** The files that links lead to. None is outside of the folder, so its tree alone decides the result. */
  async #linkTargets(links: readonly FoundLink[], signal: AbortSignal): Promise<ResolvedDoc[]> {
    const { tree, folder } = this.#reading
    const places = new LinkPlaces(tree)
    const texts = new LinkTexts()
    const bounds = { folder, called: 'the docs folder' }
    for (;;) {
      const resolved = links.map(({ path, id }) => {
        const at = joinPath(folder, path)
        const target = follow(places, (link) => texts.textOf(link), { path: at, id }, bounds)
        if (target.kind === 'refused') return linkDiagnostic(at, target.why)
        if (target.entry.kind === 'folder') return linkDiagnostic(at, 'it leads to a folder')
        const { id: blob, kind } = target.entry
        return {
          path,
          id: blob,
          executable: kind === 'executable',
          link: true,
          target: relativeTo(folder, target.path),
        }
      })
      if (await texts.takeMissing(tree, signal)) continue
      for (const one of resolved) if ('rule' in one) this.findings.push(one)
      return resolved.filter((one) => 'link' in one)
    }
  }

  /** Stops fetching as soon as the limit is exceeded. */
  async #fits(candidates: readonly ResolvedDoc[]): Promise<boolean> {
    let bytes = 0
    for (let from = 0; from < candidates.length; from += LOT) {
      const lot = candidates.slice(from, from + LOT)
      await this.#reading.take(lot.map(({ id }) => id))
      for (const { id } of lot) {
        const content = this.#reading.contentOf(id)
        if (content.kind === 'known') bytes += content.size
      }
      if (bytes > DOCS_LIMITS.bytes) return false
    }
    return true
  }

  async #filesToServe(candidates: readonly ResolvedDoc[]): Promise<DocFile[]> {
    const met = new Map<string, string>()
    const files: DocFile[] = []
    for (const found of candidates) {
      const candidate = (await this.#asItWas(found)) ?? found
      const { path, id: blob, executable, link, target } = candidate
      const content = this.#reading.contentOf(blob)
      if (this.#isLeftOut(candidate, content, met) || content.kind === 'refused') continue
      const { size, sha256, hidden } = content
      const file = { path, executable, blob, size, sha256, ...(target !== undefined && { target }) }
      files.push({ ...file, ...(link && { link: true }), ...(hidden !== undefined && { hidden }) })
    }
    return files
  }

  /** The file as it was served before, if it is unreadable for a reason that may pass. */
  async #asItWas({ path, id }: ResolvedDoc): Promise<ResolvedDoc | undefined> {
    const content = this.#reading.contentOf(id)
    if (content.kind !== 'refused' || !mayPass(content.reason)) return undefined
    const before = (await this.#standIns()).find((file) => file.path === path)
    if (before !== undefined) this.#refuse(path, content)
    return before && docAgain(before)
  }

  get #mostBytes(): string {
    return `limits.skill.bytes (${this.#reading.fileBytes})`
  }

  #refuse(path: string, refused: RefusedBlob): void {
    const at = joinPath(this.#reading.folder, path)
    const { rule, message } = contentRefusal(at, refused, this.#mostBytes)
    if (mayPass(refused.reason)) this.#note('not-read', at, `${message}; what was served of it stays in service`)
    else this.#note(rule, at, message)
  }

  /** True if the file is not served, for a reason that was recorded. */
  #isLeftOut({ path }: ResolvedDoc, content: BlobContent, met: Map<string, string>): boolean {
    const at = joinPath(this.#reading.folder, path)
    if (content.kind === 'refused') {
      this.findings.push(contentRefusal(at, content, this.#mostBytes))
      return true
    }
    const why = unaddressedReason(path)
    if (why !== undefined) return this.#note('path-refused', at, `${why}; rename it`)
    if (content.isLfsPointer && this.#reading.policy.lfs !== 'pointers') {
      this.findings.push(lfsDiagnostic(at))
      return true
    }
    if (this.#hides(path, content.hidden)) return true
    const twin = twinOf(path, met)
    if (twin === undefined) return false
    const meets = `The path meets "${twin}" where case or Unicode form does not count`
    return this.#note('path-collision', at, `${meets}, and is not served; rename it`)
  }

  /** True if the file is left out for its invisible characters. */
  #hides(path: string, inText: HiddenText | undefined): boolean {
    const at = joinPath(this.#reading.folder, path)
    const places = [
      { path: at, where: 'text', hidden: inText },
      { path: at, where: 'name', hidden: hiddenIn(path) },
    ] as const
    const { isWithheld, findings } = judgeHidden(places, this.#reading.policy.hiddenUnicode)
    this.findings.push(...findings)
    return isWithheld
  }

  #note(rule: SkillCode, path: string, message: string): true {
    this.findings.push({ rule, path, message })
    return true
  }
}

function docAgain(file: DocFile): ResolvedDoc {
  const { target } = file
  return { ...resolvedAgain(file), ...(target !== undefined && { target }) }
}

/** The number of files in one request. */
const LOT = 256

/**
 * The reason why no URI below `resource://docs/` leads to a path, for the author of the file; `undefined` if one does.
 */
function unaddressedReason(path: string): string | undefined {
  if (path.includes('\\')) return 'The path holds a backslash, which no URI may carry'
  if (/\p{Cc}/u.test(path)) return 'The path contains a control character, which would be invisible in its URI'
  if (baseName(path) === '.md') return 'The file has an ending and no name before it'
  return readContractUri(contractUri({ kind: 'doc', path })).ok ? undefined : 'No URI can name the file'
}
