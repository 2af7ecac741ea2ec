import { documentOf } from './find-skills.ts'
import type { Candidate, FoundLink, Gatherer } from './find-skills.ts'
import { Places, follow } from './links.ts'
import type { TextOf } from './links.ts'
import type { Finding } from '../skill-md/finding.ts'
import { utf8 } from '../skill-md/frontmatter.ts'
import { isBelow, joinPath } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'
import type { ResolvedCandidate, ResolvedFile } from './read-skill.ts'
import { attempted } from '../store/files/disk-error.ts'
import { readSpooled } from '../store/files/spool.ts'

/** A link's text is a path; git itself allows no longer one. */
const LINK_BYTES = 4096

/** The texts of the links of a commit, taken when somebody has asked for them: most commits have none. */
export class LinkTexts {
  readonly #texts = new Map<ObjectId, string | undefined>()
  readonly #missing = new Set<ObjectId>()

  /** Undefined too where the text is still to be taken: whoever got that asks again. */
  textOf(link: ObjectId): string | undefined {
    if (!this.#texts.has(link)) this.#missing.add(link)
    return this.#texts.get(link)
  }

  /** Takes all that was asked for in vain. Whether there was any. */
  async takeMissing(tree: Tree, signal: AbortSignal): Promise<boolean> {
    if (this.#missing.size === 0) return false
    for (const [id, taken] of await tree.take(this.#missing, signal)) {
      const isText = taken.kind === 'blob' && taken.size <= LINK_BYTES
      this.#texts.set(
        id,
        isText ? utf8(attempted(`read the link ${id} in the scratch folder`, () => readSpooled(taken))) : undefined,
      )
    }
    this.#missing.clear()
    return true
  }
}

/** Decides what the links of a commit stand for. */
export class Resolver {
  /** The paths of skills that are links through what cannot be looked into, as far as links were followed. */
  readonly unread = new Set<string>()
  /** Why links outside of skills make none, where they lead out of the repository; by their paths. */
  readonly outward = new Map<string, string>()
  readonly #tree: Tree
  readonly #places: Places
  readonly #textOf: TextOf
  readonly #root: string
  readonly #gatherer: Gatherer
  /** What was gathered behind a link, by its path: links are followed again as their texts come in. */
  readonly #linked = new Map<string, Candidate>()
  readonly #documents = new Map<ObjectId, TreeEntry | undefined>()

  constructor(tree: Tree, textOf: TextOf, root: string, gatherer: Gatherer) {
    this.#tree = tree
    this.#places = new Places(tree)
    this.#textOf = textOf
    this.#root = root
    this.#gatherer = gatherer
  }

  /** A link that leads to a skill's folder makes a skill where the link is. */
  linkedSkills(links: readonly FoundLink[]): Candidate[] {
    return links.flatMap((link) => this.#linked.get(link.path) ?? this.#linkedSkill(link) ?? [])
  }

  #linkedSkill(link: FoundLink): Candidate | undefined {
    const path = joinPath(this.#root, link.path)
    const target = follow(this.#places, this.#textOf, { path, id: link.id })
    if (target.kind === 'refused' && target.isUnread === true) this.unread.add(link.path)
    if (target.kind === 'refused' && target.isOutward === true) this.outward.set(link.path, target.why)
    if (target.kind === 'refused' || target.entry.kind !== 'folder') return undefined
    const document = this.#documentIn(target.entry.id)
    // A folder that would hold itself, by way of the link, holds no end of skills.
    if (document === undefined || isBelow(path, target.path)) return undefined
    const candidate = this.#gatherer.candidateAt(link.path, target.entry.id, document)
    const linked = { ...candidate, folder: target.path }
    this.#linked.set(link.path, linked)
    return linked
  }

  #documentIn(folder: ObjectId): TreeEntry | undefined {
    if (!this.#documents.has(folder)) this.#documents.set(folder, documentOf(this.#tree.list(folder)))
    return this.#documents.get(folder)
  }

  /** Puts the target in the place of each link that stays inside the skill, and a finding in that of each other one. */
  resolve(candidate: Candidate): ResolvedCandidate {
    const findings: Finding[] = candidate.submodules.map((path) => submoduleFinding(joinPath(candidate.path, path)))
    const files: ResolvedFile[] = candidate.files.map((file) => ({ ...file, link: false }))
    for (const link of candidate.links) {
      if (link.path === candidate.document.name) continue
      const target = this.#linkInside(candidate, link)
      if (typeof target === 'string') findings.push(linkFinding(joinPath(candidate.path, link.path), target))
      else files.push({ ...target, path: link.path })
    }
    const document = this.#document(candidate)
    if ('file' in document) files.push(document.file)
    const { path, cut, unusable } = candidate
    const resolved = { path, documentName: candidate.document.name, document, files, unusable, findings }
    return cut === undefined ? resolved : { ...resolved, cut }
  }

  /** SKILL.md alone may be a link to anywhere in the commit: whole collections are laid out like that. */
  #document(candidate: Candidate): Document {
    const { name, kind, id } = candidate.document
    if (kind !== 'link') return { id }
    const target = follow(this.#places, this.#textOf, { path: joinPath(this.#folderOf(candidate), name), id })
    if (target.kind === 'refused' && target.isUnread === true) this.unread.add(candidate.path)
    if (target.kind === 'refused') return { refused: target.why }
    if (target.entry.kind === 'folder') return { refused: 'it leads to a folder' }
    const executable = target.entry.kind === 'executable'
    return { id: target.entry.id, file: { path: name, id: target.entry.id, executable, link: true } }
  }

  /** The file that a link among a skill's files stands for, or why it is refused. */
  #linkInside(candidate: Candidate, link: FoundLink): Omit<ResolvedFile, 'path'> | string {
    const folder = this.#folderOf(candidate)
    const bounds = { folder, called: 'the skill' }
    const target = follow(this.#places, this.#textOf, { path: joinPath(folder, link.path), id: link.id }, bounds)
    if (target.kind === 'refused') return target.why
    if (target.entry.kind === 'folder') return 'it leads to a folder'
    return { executable: target.entry.kind === 'executable', id: target.entry.id, link: true }
  }

  /** Where the candidate's files lie, from the repository's root; for a linked folder, behind the link. */
  #folderOf(candidate: Candidate): string {
    return candidate.folder ?? joinPath(this.#root, candidate.path)
  }
}

type Document =
  | { readonly id: ObjectId }
  | { readonly id: ObjectId; readonly file: ResolvedFile }
  | { readonly refused: string }

/** What is said of a submodule, wherever it stands. */
export function submoduleFinding(path: string): Finding {
  const message = 'A submodule stands here; its content belongs to another repository and is not served'
  return { rule: 'submodule', path, message }
}

/** What is said of a link that leads nowhere that it may. */
export function linkFinding(path: string, why: string): Finding {
  return { rule: 'link-refused', path, message: `The link is not served: ${why}` }
}
