import { baseName, folderOf, foldersAbove, joinPath, linkTarget, MOST_LINKS } from '../../../base/paths.ts'
import { isDocument, type FolderEntry, type ListedFolder, type ListedLink } from './folder-walk.ts'

/** The relevant parts of a folder: paths from its top, both raw bytes as Latin-1. */
export interface FolderSelection {
  readonly root: string
  readonly docs: string | undefined
}

/**
 * The paths of a listed folder that belong to skills: whole folders, single files that a SKILL.md links to, and folders
 * that stay even if they are empty.
 */
export interface FolderFilter {
  readonly whole: ReadonlySet<string>
  readonly files: ReadonlySet<string>
  readonly kept: ReadonlySet<string>
  /** The links outside of skills that count, with the text that each has in the tree. */
  readonly links: ReadonlyMap<string, Buffer>
  /** Further paths whose change could alter the choice: links, their missing targets, and unread entries. */
  readonly noted: ReadonlySet<string>
}

/**
 * Chooses all folders with a SKILL.md at or above them, the links to such folders with their targets, the targets of a
 * linked SKILL.md, and the docs folder. The rest of the folder is never read, and changes no commit.
 */
export function chooseWanted(top: ListedFolder, named: FolderSelection): FolderFilter {
  const places = new Places(top)
  const links = new Map<string, Buffer>()
  const root = places.realPath(named.root, links)
  const docs = named.docs === undefined ? undefined : places.realPath(named.docs, links)
  const whole = new Set<string>()
  const files = new Set<string>()
  const below = places.folderAt(root)
  if (below !== undefined) addSkills(below, root, { whole, files })
  const noted = new Set([...unreadIn(top, ''), ...namedPathsOf(named)])
  for (const { path, link } of below === undefined ? [] : linksIn(below, root)) {
    if (isInside(path, whole)) continue
    noted.add(path)
    const { to, hops } = places.follow(path, link, noted)
    const isReported = folderOf(path) === root || SKILLS_FOLDER.test(folderOf(path))
    if (to === 'outward' && isReported) links.set(path, OUTWARD)
    if (typeof to === 'string' || !mayBeSkill(to.entry)) continue
    if (to.entry.kind === 'folder') whole.add(to.path)
    for (const [at, text] of hops) links.set(at, text)
  }
  if (docs !== undefined && places.folderAt(docs) !== undefined) whole.add(docs)
  const kept = new Set(namedPathsOf({ root, docs }))
  for (const { path, link } of linksIn(top, '')) {
    if (!isDocument(path) || !isInside(path, whole)) continue
    const { to, hops } = places.follow(path, link, noted)
    for (const [at, text] of hops) links.set(at, text)
    if (typeof to === 'string') continue
    if (to.entry.kind === 'folder') kept.add(to.path)
    else files.add(to.path)
  }
  return { whole, files, kept, links, noted }
}

/** The folders in which installers put links to skills: there, a link that leads out of the source is reported. */
const SKILLS_FOLDER = /(?:^|\/)skills$/

/** The text of every link outside of skills that leads out of the folder: where it leads belongs to one machine. */
const OUTWARD = Buffer.from('/…')

function isInside(path: string, whole: ReadonlySet<string>): boolean {
  return whole.has(path) || [...foldersAbove(path)].some((at) => whole.has(at))
}

function mayBeSkill(entry: FolderEntry): boolean {
  return entry.kind === 'unread' || (entry.kind === 'folder' && hasDocument(entry))
}

/** Returns the paths that the selection names, and those above them. */
export function namedPathsOf({ root, docs }: FolderSelection): ReadonlySet<string> {
  return new Set([root, ...foldersAbove(root), ...(docs === undefined ? [] : [docs, ...foldersAbove(docs)])])
}

function addSkills(folder: ListedFolder, path: string, wanted: Readonly<Record<'whole' | 'files', Set<string>>>): void {
  if (hasDocument(folder)) {
    wanted.whole.add(path)
    return
  }
  for (const [name, entry] of folder.entries) {
    const at = joinPath(path, name)
    if (entry.kind === 'ignored') wanted.files.add(at)
    if (entry.kind === 'folder') addSkills(entry, at, wanted)
  }
}

function hasDocument({ entries }: ListedFolder): boolean {
  return [...entries].some(([name, entry]) => isDocument(name) && isFileLike(entry))
}

function isFileLike(entry: FolderEntry): boolean {
  return entry.kind === 'file' || entry.kind === 'link' || (entry.kind === 'unread' && !entry.isFolder)
}

/**
 * Returns a test for raw paths. It is true if a change at the path could alter the choice or the chosen content. A new
 * SKILL.md and an ignore file matter anywhere, and what is passed over nowhere.
 */
export function relevanceOf(
  { whole, files, kept, links, noted }: FolderFilter,
  isPassedOver: (path: string) => boolean = () => false,
): (path: string) => boolean {
  const chosen = [...whole, ...files, ...kept, ...links.keys(), ...noted]
  const paths = new Set([...chosen, ...chosen.flatMap((path) => Array.from(foldersAbove(path)))])
  const isIn = (path: string): boolean => paths.has(path) || isInside(path, whole)
  return (path) => isDocument(path) || isIgnoreFile(path) || (isIn(path) && !isPassedOver(path))
}

function isIgnoreFile(path: string): boolean {
  return baseName(path) === '.gitignore'
}

function* unreadIn(folder: ListedFolder, path: string): Generator<string> {
  for (const [name, entry] of folder.entries) {
    const at = joinPath(path, name)
    if (entry.kind === 'unread') yield at
    if (entry.kind === 'folder') yield* unreadIn(entry, at)
  }
}

function* linksIn(folder: ListedFolder, path: string): Generator<{ readonly path: string; readonly link: ListedLink }> {
  for (const [name, entry] of folder.entries) {
    const at = joinPath(path, name)
    if (entry.kind === 'link') yield { path: at, link: entry }
    if (entry.kind === 'folder') yield* linksIn(entry, at)
  }
}

/**
 * Follows links as the survey does: within the folder, and only through real folders. A link that the survey refuses
 * leads nowhere here too.
 */
class Places {
  readonly #top: ListedFolder

  constructor(top: ListedFolder) {
    this.#top = top
  }

  folderAt(path: string): ListedFolder | undefined {
    const entry = this.#entryAt(path)
    return entry?.kind === 'folder' ? entry : undefined
  }

  /** The path of a named folder after all links on the way to it, as far as they lead. The links are added to `passed`. */
  realPath(named: string, passed: Map<string, Buffer>, hops = { left: MOST_LINKS }): string {
    let path = ''
    for (const name of named === '' ? [] : named.split('/')) {
      path = joinPath(path, name)
      const entry = this.#entryAt(path)
      if (entry?.kind !== 'link') continue
      passed.set(path, entry.text)
      const target = linkTarget(path, entry.text.toString('latin1'))
      if (target === undefined || hops.left === 0) continue
      hops.left -= 1
      path = this.realPath(target, passed, hops)
    }
    return path
  }

  /**
   * Follows a link and notes each target, existing or not, except files: a write to a file does not change the choice.
   */
  follow(from: string, { text }: ListedLink, noted: Set<string>): Led {
    const hops: [string, Buffer][] = [[from, text]]
    for (let [path, to] = [from, text]; hops.length <= MOST_LINKS; hops.push([path, to])) {
      const target = linkTarget(path, to.toString('latin1'))
      if (target === undefined) return { to: 'outward', hops }
      const entry = this.#entryAt(target)
      if (entry?.kind !== 'file') noted.add(target)
      if (entry === undefined) break
      if (entry.kind !== 'link') return { to: { path: target, entry }, hops }
      ;[path, to] = [target, entry.text]
    }
    return { to: 'nowhere', hops }
  }

  /** As in the survey, what lies below an unread folder is unread. */
  #entryAt(path: string): FolderEntry | undefined {
    let entry: FolderEntry | undefined = this.#top
    for (const name of path === '' ? [] : path.split('/')) {
      if (entry?.kind === 'unread') return entry
      if (entry?.kind !== 'folder') return undefined
      entry = entry.entries.get(name)
    }
    return entry
  }
}

/** The place that a link leads to, and the links on the way with their texts, itself first. */
interface Led {
  readonly to: { readonly path: string; readonly entry: FolderEntry } | 'nowhere' | 'outward'
  readonly hops: readonly (readonly [path: string, text: Buffer])[]
}
