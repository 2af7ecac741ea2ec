import { baseName, foldersAbove, joinPath, linkTarget, MOST_LINKS } from '../../../base/paths.ts'
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
  /** Further paths whose change could alter the choice: links, their missing targets, and unread entries. */
  readonly noted: ReadonlySet<string>
}

/**
 * Chooses all folders with a SKILL.md at or above them, the targets of links, and the docs folder. The rest of the
 * folder is never read.
 */
export function chooseWanted(top: ListedFolder, named: FolderSelection): FolderFilter {
  const places = new Places(top)
  const root = places.realPath(named.root)
  const docs = named.docs === undefined ? undefined : places.realPath(named.docs)
  const whole = new Set<string>()
  const files = new Set<string>()
  const below = places.folderAt(root)
  if (below !== undefined) addSkills(below, root, { whole, files })
  if (docs !== undefined && places.folderAt(docs) !== undefined) whole.add(docs)
  const noted = new Set([...unreadIn(top, ''), ...namedPathsOf(named)])
  const kept = new Set(namedPathsOf({ root, docs }))
  for (const { path, link } of linksIn(top, '')) {
    noted.add(path)
    const target = places.follow(path, link, noted)
    if (target?.entry.kind === 'folder' && hasDocument(target.entry)) whole.add(target.path)
    if (target === undefined || !isDocument(path)) continue
    if (target.entry.kind === 'folder') kept.add(target.path)
    else files.add(target.path)
  }
  return { whole, files, kept, noted }
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
  { whole, files, kept, noted }: FolderFilter,
  isPassedOver: (path: string) => boolean = () => false,
): (path: string) => boolean {
  const chosen = [...whole, ...files, ...kept, ...noted]
  const paths = new Set([...chosen, ...chosen.flatMap((path) => Array.from(foldersAbove(path)))])
  const isIn = (path: string): boolean => paths.has(path) || [...foldersAbove(path)].some((at) => whole.has(at))
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

  /** The path of a named folder after all links on the way to it, as far as they lead. */
  realPath(named: string, hops = { left: MOST_LINKS }): string {
    let path = ''
    for (const name of named === '' ? [] : named.split('/')) {
      path = joinPath(path, name)
      const entry = this.#entryAt(path)
      const target = entry?.kind === 'link' ? linkTarget(path, entry.text.toString('latin1')) : undefined
      if (target === undefined || hops.left === 0) continue
      hops.left -= 1
      path = this.realPath(target, hops)
    }
    return path
  }

  /**
   * Follows a link and notes each target, existing or not, except files: a write to a file does not change the choice.
   */
  follow(
    from: string,
    link: ListedLink,
    noted: Set<string>,
  ): { readonly path: string; readonly entry: FolderEntry } | undefined {
    let [path, text] = [from, link.text]
    for (let hop = 0; hop < MOST_LINKS; hop += 1) {
      const target = linkTarget(path, text.toString('latin1'))
      if (target === undefined) return undefined
      const entry = this.#entryAt(target)
      if (entry?.kind !== 'file') noted.add(target)
      if (entry === undefined) return undefined
      if (entry.kind !== 'link') return { path: target, entry }
      ;[path, text] = [target, entry.text]
    }
    return undefined
  }

  #entryAt(path: string): FolderEntry | undefined {
    let entry: FolderEntry | undefined = this.#top
    for (const name of path === '' ? [] : path.split('/')) {
      if (entry?.kind !== 'folder') return undefined
      entry = entry.entries.get(name)
    }
    return entry
  }
}
