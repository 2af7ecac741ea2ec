import { isBelow, joinPath } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'
import { utf8 } from '../skill/frontmatter.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { rootFolder, rootNotFound, skillDocumentIn } from './find-skills.ts'
import type { SkillCandidate, FoundLink, Gatherer } from './find-skills.ts'
import { LinkPlaces, follow, realPath } from './link-places.ts'
import type { TextOf } from './link-places.ts'
import type { ResolvedCandidate, ResolvedFile } from './read-skill.ts'

/** The text of a link is a path; git itself allows no longer one. */
const LINK_BYTES = 4096

/** The texts of a commit's links, fetched on demand: most commits have none. */
export class LinkTexts {
  readonly #texts = new Map<ObjectId, string | undefined>()
  readonly #missing = new Set<ObjectId>()

  /** Also `undefined` if the text is not fetched yet: the caller then tries again after `takeMissing`. */
  textOf(link: ObjectId): string | undefined {
    if (!this.#texts.has(link)) this.#missing.add(link)
    return this.#texts.get(link)
  }

  /** Fetches all texts that were requested but missing. Returns true if there were any. */
  async takeMissing(tree: Tree, signal: AbortSignal): Promise<boolean> {
    if (this.#missing.size === 0) return false
    for (const [id, taken] of await tree.take(this.#missing, signal)) {
      const isText = taken.kind === 'blob' && taken.size <= LINK_BYTES
      this.#texts.set(id, isText ? utf8(tree.bytesOf(taken)) : undefined)
    }
    this.#missing.clear()
    return true
  }
}

/**
 * The path of a configured root after all links on the way to it, none of which may leave the repository. Throws
 * `root-not-found` if it leads to no folder.
 */
export async function realRoot(tree: Tree, root: string, signal: AbortSignal): Promise<string> {
  const found = await realFolder(tree, root, signal)
  if ('why' in found) throw rootNotFound(tree, root, found.why)
  rootFolder(tree, found.path)
  return found.path
}

/** The path of any folder after all links on the way to it, or the reason why one of them is refused. */
export async function realFolder(tree: Tree, folder: string, signal: AbortSignal): ReturnType<typeof realPath> {
  const texts = new LinkTexts()
  return realPath(new LinkPlaces(tree), folder, async (link) => {
    texts.textOf(link)
    await texts.takeMissing(tree, signal)
    return texts.textOf(link)
  })
}

/** Resolves the links of a commit. */
export class Resolver {
  /** The paths of skills that are links through an unreadable place, for the links followed so far. */
  readonly unread = new Set<string>()
  /** The reasons why links outside of skills are refused, if they lead out of the repository; by their paths. */
  readonly outward = new Map<string, string>()
  readonly #tree: Tree
  readonly #places: LinkPlaces
  readonly #textOf: TextOf
  readonly #root: string
  readonly #gatherer: Gatherer
  /** Candidates behind links, by the path of the link: links are followed again as their texts arrive. */
  readonly #linked = new Map<string, SkillCandidate>()
  readonly #documents = new Map<ObjectId, TreeEntry | undefined>()

  constructor(tree: Tree, textOf: TextOf, root: string, gatherer: Gatherer) {
    this.#tree = tree
    this.#places = new LinkPlaces(tree)
    this.#textOf = textOf
    this.#root = root
    this.#gatherer = gatherer
  }

  /** A link to a skill's folder makes a skill at the place of the link. */
  linkedSkills(links: readonly FoundLink[]): SkillCandidate[] {
    return links.flatMap((link) => this.#linked.get(link.path) ?? this.#linkedSkill(link) ?? [])
  }

  #linkedSkill(link: FoundLink): SkillCandidate | undefined {
    const path = joinPath(this.#root, link.path)
    const target = follow(this.#places, this.#textOf, { path, id: link.id })
    if (target.kind === 'refused' && target.isUnread === true) this.unread.add(link.path)
    if (target.kind === 'refused' && target.isOutward === true) this.outward.set(link.path, target.why)
    if (target.kind === 'refused' || target.entry.kind !== 'folder') return undefined
    const document = this.#documentIn(target.entry.id)
    // A folder that contains itself through the link would contain endless skills.
    if (document === undefined || isBelow(path, target.path)) return undefined
    const candidate = this.#gatherer.candidateAt(link.path, target.entry.id, document)
    const linked = { ...candidate, folder: target.path }
    this.#linked.set(link.path, linked)
    return linked
  }

  #documentIn(folder: ObjectId): TreeEntry | undefined {
    if (!this.#documents.has(folder)) this.#documents.set(folder, skillDocumentIn(this.#tree.list(folder)))
    return this.#documents.get(folder)
  }

  /** Replaces each link that stays inside the skill by its target, and every other one by a finding. */
  resolve(candidate: SkillCandidate): ResolvedCandidate {
    const findings: SkillDiagnostic[] = candidate.submodules.map((path) =>
      submoduleDiagnostic(joinPath(candidate.path, path)),
    )
    const files: ResolvedFile[] = candidate.files.map((file) => ({ ...file, link: false }))
    for (const link of candidate.links) {
      if (link.path === candidate.document.name) continue
      const target = this.#linkInside(candidate, link)
      if (typeof target === 'string') findings.push(linkDiagnostic(joinPath(candidate.path, link.path), target))
      else files.push({ ...target, path: link.path })
    }
    const document = this.#document(candidate)
    if ('file' in document) files.push(document.file)
    const { path, cut, unusable } = candidate
    const resolved = { path, documentName: candidate.document.name, document, files, unusable, findings }
    return cut === undefined ? resolved : { ...resolved, cut }
  }

  /** Only SKILL.md may be a link to anywhere in the commit: whole collections use this layout. */
  #document(candidate: SkillCandidate): Document {
    const { name, kind, id } = candidate.document
    if (kind !== 'link') return { id }
    const target = follow(this.#places, this.#textOf, { path: joinPath(this.#folderOf(candidate), name), id })
    if (target.kind === 'refused' && target.isUnread === true) this.unread.add(candidate.path)
    if (target.kind === 'refused') return { refused: target.why }
    if (target.entry.kind === 'folder') return { refused: 'it leads to a folder' }
    const executable = target.entry.kind === 'executable'
    return { id: target.entry.id, file: { path: name, id: target.entry.id, executable, link: true } }
  }

  /** The file that a link among a skill's files leads to, or the reason for its refusal. */
  #linkInside(candidate: SkillCandidate, link: FoundLink): Omit<ResolvedFile, 'path'> | string {
    const folder = this.#folderOf(candidate)
    const bounds = { folder, called: 'the skill' }
    const target = follow(this.#places, this.#textOf, { path: joinPath(folder, link.path), id: link.id }, bounds)
    if (target.kind === 'refused') return target.why
    if (target.entry.kind === 'folder') return 'it leads to a folder'
    return { executable: target.entry.kind === 'executable', id: target.entry.id, link: true }
  }

  /** The folder of the candidate's files, from the repository's root; for a linked folder, the target of the link. */
  #folderOf(candidate: SkillCandidate): string {
    return candidate.folder ?? joinPath(this.#root, candidate.path)
  }
}

type Document =
  | { readonly id: ObjectId }
  | { readonly id: ObjectId; readonly file: ResolvedFile }
  | { readonly refused: string }

/** The finding for a submodule, at any place. */
export function submoduleDiagnostic(path: string): SkillDiagnostic {
  const message = 'This is a submodule; its content belongs to another repository and is not served'
  return { rule: 'submodule', path, message }
}

/** The finding for a link without a permitted target. */
export function linkDiagnostic(path: string, why: string): SkillDiagnostic {
  return { rule: 'link-refused', path, message: `The link is not served: ${why}` }
}
