import { sorting } from '../../base/async/cooperative.ts'
import type { Steps } from '../../base/async/cooperative.ts'
import { folderOf, foldersAbove, joinPath } from '../../base/paths.ts'
import { printablePath } from '../../base/text/printable.ts'
import { comparePaths } from '../model/digest.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { diskFix, SyncError } from '../model/sync-error.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/** The result of one walk over a tree: only names and ids, no content. */
export interface FoundSkills {
  readonly candidates: readonly SkillCandidate[]
  /** Links in no skill: one may lead to a skill's folder. */
  readonly links: readonly FoundLink[]
  /** Submodules in no skill. */
  readonly submodules: readonly string[]
  /** Folders in no skill whose name cannot be served. */
  readonly unusable: readonly string[]
  /** Places in no skill that are not entered, though they may contain skills. */
  readonly unread: readonly FoundLink[]
  /** Skills and findings below unchanged folders. */
  readonly kept: { readonly skills: readonly Skill[]; readonly findings: readonly SkillDiagnostic[] }
  /** Every folder of the walk that is in no skill, including skills' own folders, with its tree id. */
  readonly folders: ReadonlyMap<string, ObjectId>
}

/** A folder with a SKILL.md in it. */
export interface SkillCandidate {
  readonly path: string
  /** The folder of its files, from the repository's root, if that is not `path`: the target of a link. */
  readonly folder?: string
  /** The entry that made it a candidate; not always named exactly `SKILL.md`, not always a file. */
  readonly document: TreeEntry
  /** Relative to the folder, including files of folders below. */
  readonly files: readonly FoundFile[]
  readonly links: readonly FoundLink[]
  readonly submodules: readonly string[]
  /** Paths with a name that cannot be served. */
  readonly unusable: readonly string[]
  /** Present if the folder has more than a skill may have: the rest was not taken. */
  readonly cut?: OmittedFiles
}

/** The files in a folder that has too much. `isAll`: they are complete. */
export interface OmittedFiles {
  readonly paths: readonly string[]
  readonly isAll: boolean
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

/** Walks the tree below `root`, a path without links. A folder whose id is the same in `held` is not entered: its skills come from there. */
export function* findSkills(
  tree: Tree,
  root: string,
  held: Snapshot | undefined,
  gatherer: Gatherer,
): Steps<FoundSkills> {
  const before = held && (yield* HeldFolders.of(held))
  const walk = new Walk(tree, before, gatherer)
  yield* walk.enter('', rootFolder(tree, root), false)
  return walk
}

/** The entry that makes a folder a skill: `SKILL.md`, else one that differs only in case. */
export function skillDocumentIn(entries: readonly TreeEntry[]): TreeEntry | undefined {
  const named = entries.filter((entry) => entry.name.toLowerCase() === 'skill.md' && isFileLike(entry))
  return named.find((entry) => entry.name === 'SKILL.md') ?? named[0]
}

class Walk implements FoundSkills {
  readonly candidates: SkillCandidate[] = []
  readonly links: FoundLink[] = []
  readonly submodules: string[] = []
  readonly unusable: string[] = []
  readonly unread: FoundLink[] = []
  readonly kept: { skills: Skill[]; findings: SkillDiagnostic[] } = { skills: [], findings: [] }
  readonly folders = new Map<string, ObjectId>()
  readonly #tree: Tree
  readonly #held: HeldFolders | undefined
  readonly #gatherer: Gatherer

  constructor(tree: Tree, held: HeldFolders | undefined, gatherer: Gatherer) {
    this.#tree = tree
    this.#held = held
    this.#gatherer = gatherer
  }

  *enter(path: string, id: ObjectId, insideSkill: boolean): Steps<void> {
    // A folder inside a skill is read whenever the skill is, so its own result is not useful.
    if (!insideSkill) this.folders.set(path, id)
    if (!insideSkill && this.#held?.idOf(path) === id) return this.#keep(this.#held, path)
    const entries = this.#tree.list(id)
    const document = skillDocumentIn(entries)
    if (document !== undefined) this.candidates.push(this.#gatherer.candidateAt(path, id, document))
    const inside = insideSkill || document !== undefined
    yield
    for (const entry of entries) {
      const below = joinPath(path, entry.name)
      if (entry.kind === 'folder') yield* this.enter(below, entry.id, inside)
      else if (!inside) this.#add(below, entry)
    }
  }

  #add(path: string, entry: TreeEntry): void {
    if (entry.kind === 'link') this.links.push({ path, id: entry.id })
    else if (entry.kind === 'submodule') this.submodules.push(path)
    else if (entry.kind === 'unusable-folder') this.unusable.push(path)
    else if (entry.kind === 'unread') this.unread.push({ path, id: entry.id })
  }

  #keep(held: HeldFolders, path: string): void {
    for (const skill of held.skills.get(path) ?? []) this.kept.skills.push(skill)
    for (const finding of held.findings.get(path) ?? []) this.kept.findings.push(finding)
    for (const [folder, id] of held.folders.get(path) ?? []) this.folders.set(folder, id)
  }
}

/**
 * The content of an earlier snapshot by folder. It is indexed, not searched: most commits leave thousands of folders
 * unchanged.
 */
class HeldFolders {
  readonly #ids: ReadonlyMap<string, ObjectId>
  readonly skills: Inside<Skill>
  readonly findings: Inside<SkillDiagnostic>
  readonly folders: Inside<readonly [string, ObjectId]>

  private constructor(
    ids: ReadonlyMap<string, ObjectId>,
    inside: Pick<HeldFolders, 'skills' | 'findings' | 'folders'>,
  ) {
    this.#ids = ids
    this.skills = inside.skills
    this.findings = inside.findings
    this.folders = inside.folders
  }

  static *of({ skills, findings, folders }: Snapshot): Steps<HeldFolders> {
    const ids = Object.entries(folders)
    yield
    return new HeldFolders(new Map(ids), {
      skills: yield* byFolder(skills, ({ path }) => path),
      findings: yield* byFolder(findings, ({ path }) => path),
      folders: yield* byFolder(ids, ([path]) => path),
    })
  }

  idOf(path: string): ObjectId | undefined {
    return this.#ids.get(path)
  }
}

/** By folder: the items at it and below it. */
type Inside<Item> = ReadonlyMap<string, readonly Item[]>

function* byFolder<Item>(items: readonly Item[], pathOf: (item: Item) => string): Steps<Inside<Item>> {
  const inside = new Map<string, Item[]>()
  for (const item of items) {
    yield
    for (let folder = pathOf(item); ; folder = folderOf(folder)) {
      const met = inside.get(folder)
      if (met === undefined) inside.set(folder, [item])
      else met.push(item)
      if (folder === '') break
    }
  }
  return inside
}

function absenceReason(tree: Tree, entry: TreeEntry | undefined, beside: readonly TreeEntry[], name: string): string {
  const alike = beside.find((other) => other.name.toLowerCase() === name.toLowerCase())?.name
  const unlike = alike === undefined ? `commit ${tree.revision.commit} has none` : `it has "${alike}"`
  return entry === undefined ? unlike : `"${name}" is not a folder`
}

/** The error for a root that names no folder, with those that would. */
export function rootNotFound(tree: Tree, root: string, why: string): SyncError {
  const folders = [...skillFolders(tree, tree.root, '')].map((folder) => printablePath(folder))
  const names = folders.slice(0, MOST_ROOTS).join(', ')
  const to = folders.length === 0 ? 'a folder that is there' : `a folder that has skills, such as ${names}`
  const fix = `Set \`root\` of the source to ${to}, or remove it to read everything`
  return new SyncError('root-not-found', `Cannot find the folder "${root}": ${why}`, { fix, place: 'root' })
}

const MOST_ROOTS = 3

/** The folders in which folders of skills are. */
function skillFolders(tree: Tree, id: ObjectId, path: string): ReadonlySet<string> {
  const found = new Set<string>()
  const folders = tree.list(id).filter((entry) => entry.kind === 'folder')
  for (const folder of folders) {
    if (skillDocumentIn(tree.list(folder.id)) !== undefined) found.add(path)
    else for (const below of skillFolders(tree, folder.id, joinPath(path, folder.name))) found.add(below)
    if (found.size > MOST_ROOTS) break
  }
  found.delete('')
  return found
}

/** The tree at a root, a path without links. Throws `root-not-found` if there is none. */
export function rootFolder(tree: Tree, root: string): ObjectId {
  let id = tree.root
  for (const name of root === '' ? [] : root.split('/')) {
    const entry = tree.list(id).find((candidate) => candidate.name === name)
    if (entry?.kind === 'unread')
      throw new SyncError('source-unreachable', `Cannot read the folder "${root}": it cannot be read`, {
        fix: diskFix('EACCES'),
      })
    if (entry?.kind !== 'folder') throw rootNotFound(tree, root, absenceReason(tree, entry, tree.list(id), name))
    id = entry.id
  }
  return id
}

/** Gathers the content of skills' folders. One per commit, since its limit counts over all of them. */
export class Gatherer {
  readonly #tree: Tree
  readonly #maxFiles: number
  #left = MAX_GATHERED
  #leftToCount = MAX_GATHERED

  constructor(tree: Tree, maxFiles: number) {
    this.#tree = tree
    this.#maxFiles = maxFiles
  }

  /** Everything in a folder, as the files of a skill. */
  candidateAt(path: string, folder: ObjectId, document: TreeEntry): SkillCandidate {
    const room = ENTRIES_PER_FILE * (this.#maxFiles + 1)
    const content: Content = { files: [], links: [], submodules: [], unusable: [], room }
    const isWhole = this.#gather(folder, '', content)
    const { files, links, submodules, unusable } = content
    const taken = { path, document, files, links, submodules, unusable }
    return isWhole ? taken : { ...taken, cut: this.#countedIn(folder, room, files) }
  }

  /**
   * Lists files for the number in a finding, and checks a limited number of entries. `least`: those already taken.
   */
  #countedIn(folder: ObjectId, room: number, least: readonly FoundFile[]): OmittedFiles {
    const most = Math.min(room, this.#leftToCount)
    let left = most
    const paths: string[] = []
    const count = (entries: readonly TreeEntry[], above: string): boolean =>
      entries.every(({ kind, id, name }) => {
        left -= 1
        if (left < 0) return false
        const path = joinPath(above, name)
        if (kind === 'folder') return count(this.#tree.list(id), path)
        if (FILE_KINDS.has(kind)) paths.push(path)
        return true
      })
    const isAll = count(this.#tree.list(folder), '')
    this.#leftToCount -= most - Math.max(0, left)
    return { paths: paths.length < least.length ? least.map(({ path }) => path) : paths, isAll }
  }

  /** False if there was more than there is room for. */
  #gather(folder: ObjectId, path: string, content: Content): boolean {
    for (const entry of this.#tree.list(folder)) {
      if (content.room === 0 || content.files.length > this.#maxFiles) return false
      content.room -= 1
      this.#count()
      if (!this.#put(entry, joinPath(path, entry.name), content)) return false
    }
    return true
  }

  #put({ kind, id }: TreeEntry, path: string, content: Content): boolean {
    switch (kind) {
      case 'folder':
        return this.#gather(id, path, content)
      case 'link':
        content.links.push({ path, id })
        return true
      case 'submodule':
        content.submodules.push(path)
        return true
      case 'unusable-file':
      case 'unusable-folder':
        content.unusable.push(path)
        return true
      // An unreadable entry counts as a file: without it the skill would not be whole.
      case 'unread':
      case 'file':
      case 'executable':
        content.files.push({ path, executable: kind === 'executable', id })
        return true
      default:
        return kind satisfies never
    }
  }

  #count(): void {
    this.#left -= 1
    if (this.#left >= 0) return
    const message = `Cannot take the commit: its skills name more than ${MAX_GATHERED} files and folders, each counted in every skill that contains it`
    throw new SyncError('limit-exceeded', message)
  }
}

/**
 * The limit for one commit. Nested skills name each file once per level, and each link to a skill's folder names all of
 * its files again.
 */
const MAX_GATHERED = 250_000

const FILE_KINDS: ReadonlySet<TreeEntry['kind']> = new Set(['file', 'executable', 'unread'])

/** The number of folders, links and submodules that a skill may contain for each permitted file. */
const ENTRIES_PER_FILE = 16

interface Content {
  readonly files: FoundFile[]
  readonly links: FoundLink[]
  readonly submodules: string[]
  readonly unusable: string[]
  /** The number of further entries of any kind that may be read. */
  room: number
}

function isFileLike(entry: TreeEntry): boolean {
  return entry.kind === 'file' || entry.kind === 'executable' || entry.kind === 'link'
}

/**
 * The folders whose tree id alone decides what is found below them. The target of a link may change while its folder
 * does not, so the folders above a link are left out. `alone` are left out too, but not the folders above them.
 */
export function* decidingByTheirId(
  folders: ReadonlyMap<string, ObjectId>,
  links: Iterable<string>,
  alone: Iterable<string>,
): Steps<Readonly<Record<string, ObjectId>>> {
  const left = new Set(alone)
  for (const path of links) {
    left.add(path)
    for (const above of foldersAbove(path)) left.add(above)
    yield
  }
  const kept = [...folders].filter(([path]) => !left.has(path))
  yield
  return Object.fromEntries(yield* sorting(kept, ([a], [b]) => comparePaths(a, b)))
}
