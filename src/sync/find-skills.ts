import { foldersAbove, isBelow, joinPath } from './model/paths.ts'
import type { ObjectId } from './model/revision.ts'
import type { Skill } from './model/skill.ts'
import type { Finding } from './model/finding.ts'
import type { Snapshot } from './model/snapshot.ts'
import { SyncError } from './model/sync-error.ts'
import type { Tree, TreeEntry } from './model/tree.ts'
import { comparePaths } from './model/digest.ts'

/** What one walk over a tree found: nothing but names and ids, no content was read. */
export interface Found {
  readonly candidates: readonly Candidate[]
  /** Links that lie in no skill: one may lead to a skill's folder. */
  readonly links: readonly FoundLink[]
  /** Submodules that lie in no skill. */
  readonly submodules: readonly string[]
  /** Skills and findings below folders that are as they were. */
  readonly kept: { readonly skills: readonly Skill[]; readonly findings: readonly Finding[] }
  /** Every folder that was met and lies in no skill, skills' own folders included, with its tree id. */
  readonly folders: ReadonlyMap<string, ObjectId>
}

/** A folder with a SKILL.md in it. */
export interface Candidate {
  readonly path: string
  /** Where its files lie, from the repository's root, if not at `path`: the folder that a link leads to. */
  readonly folder?: string
  /** The entry that made it one; not always called `SKILL.md` to the letter, not always a file. */
  readonly document: TreeEntry
  /** Relative to the folder, files of folders below included. Cut short at one over the limit. */
  readonly files: readonly FoundFile[]
  readonly links: readonly FoundLink[]
  readonly submodules: readonly string[]
}

export interface FoundFile {
  readonly path: string
  readonly executable: boolean
  readonly id: ObjectId
}

export interface FoundLink {
  readonly path: string
  readonly id: ObjectId
}

/** Walks the tree below `root`. A folder that has the id it had in `held` is not entered: its skills are taken from there. */
export function findSkills(tree: Tree, root: string, held: Snapshot | undefined, maxFiles: number): Found {
  const walk = new Walk(tree, held, maxFiles)
  walk.enter('', rootFolder(tree, root), false)
  return walk
}

/** Everything in a folder, as the files of a skill: at most one over `maxFiles`, which says all there is to say. */
export function candidateAt(
  tree: Tree,
  path: string,
  folder: ObjectId,
  document: TreeEntry,
  maxFiles: number,
): Candidate {
  const content: Content = { files: [], links: [], submodules: [], room: maxFiles + 1 }
  gather(tree, folder, '', content)
  const { files, links, submodules } = content
  return { path, document, files, links, submodules }
}

/** The entry that makes a folder a skill: `SKILL.md`, else one that only differs in case. */
export function documentOf(entries: readonly TreeEntry[]): TreeEntry | undefined {
  const named = entries.filter((entry) => entry.name.toLowerCase() === 'skill.md' && isFileLike(entry))
  return named.find((entry) => entry.name === 'SKILL.md') ?? named[0]
}

class Walk implements Found {
  readonly candidates: Candidate[] = []
  readonly links: FoundLink[] = []
  readonly submodules: string[] = []
  readonly kept: { skills: Skill[]; findings: Finding[] } = { skills: [], findings: [] }
  readonly folders = new Map<string, ObjectId>()
  readonly #tree: Tree
  readonly #held: Snapshot | undefined
  readonly #maxFiles: number

  constructor(tree: Tree, held: Snapshot | undefined, maxFiles: number) {
    this.#tree = tree
    this.#held = held
    this.#maxFiles = maxFiles
  }

  enter(path: string, id: ObjectId, insideSkill: boolean): void {
    // A folder inside of a skill is read whenever the skill is, so what is known of it alone helps nobody.
    if (!insideSkill) this.folders.set(path, id)
    if (!insideSkill && this.#held?.folders[path] === id) return this.#keep(this.#held, path)
    const entries = this.#tree.list(id)
    const document = documentOf(entries)
    if (document !== undefined) this.candidates.push(candidateAt(this.#tree, path, id, document, this.#maxFiles))
    const inside = insideSkill || document !== undefined
    for (const entry of entries) this.#visit(joinPath(path, entry.name), entry, inside)
  }

  #visit(path: string, entry: TreeEntry, insideSkill: boolean): void {
    if (entry.kind === 'folder') this.enter(path, entry.id, insideSkill)
    else if (insideSkill) return
    else if (entry.kind === 'link') this.links.push({ path, id: entry.id })
    else if (entry.kind === 'submodule') this.submodules.push(path)
  }

  #keep(held: Snapshot, path: string): void {
    const within = (other: string): boolean => other === path || isBelow(other, path)
    this.kept.skills.push(...held.skills.filter((skill) => within(skill.path)))
    this.kept.findings.push(...held.findings.filter((finding) => within(finding.path)))
    for (const [folder, id] of Object.entries(held.folders)) if (within(folder)) this.folders.set(folder, id)
  }
}

function rootFolder(tree: Tree, root: string): ObjectId {
  let id = tree.root
  for (const name of root === '' ? [] : root.split('/')) {
    const entry = tree.list(id).find((candidate) => candidate.name === name)
    if (entry?.kind !== 'folder') {
      throw new SyncError(
        'content-refused',
        `Cannot find the folder "${root}": commit ${tree.revision.commit} has none`,
      )
    }
    id = entry.id
  }
  return id
}

interface Content {
  readonly files: FoundFile[]
  readonly links: FoundLink[]
  readonly submodules: string[]
  /** How many more files and links are taken. */
  room: number
}

function gather(tree: Tree, folder: ObjectId, path: string, content: Content): void {
  for (const entry of tree.list(folder)) {
    // A deep nest of skills is walked once per level; without an end to each walk that would be a bomb.
    if (content.room === 0) return
    const at = joinPath(path, entry.name)
    if (entry.kind === 'folder') gather(tree, entry.id, at, content)
    else if (entry.kind === 'submodule') content.submodules.push(at)
    else {
      content.room -= 1
      if (entry.kind === 'link') content.links.push({ path: at, id: entry.id })
      else content.files.push({ path: at, executable: entry.kind === 'executable', id: entry.id })
    }
  }
}

function isFileLike(entry: TreeEntry): boolean {
  return entry.kind === 'file' || entry.kind === 'executable' || entry.kind === 'link'
}

/**
 * The folders whose tree id alone decides what is found below them. A link may lead elsewhere although its folder is as it
 * was, so the folders above one are left out; `alone` are left out without those above them.
 */
export function decidedByTheirId(
  folders: ReadonlyMap<string, ObjectId>,
  links: Iterable<string>,
  alone: Iterable<string>,
): Readonly<Record<string, ObjectId>> {
  const left = new Set(alone)
  for (const path of links) {
    left.add(path)
    for (const above of foldersAbove(path)) left.add(above)
  }
  const kept = [...folders].filter(([path]) => !left.has(path))
  return Object.fromEntries(kept.toSorted(([a], [b]) => comparePaths(a, b)))
}
