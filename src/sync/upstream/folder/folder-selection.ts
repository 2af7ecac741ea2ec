import { foldersAbove, folderOf, joinPath } from '../../../base/paths.ts'
import type { FolderEntry, ListedFolder, ListedLink } from './folder-walk.ts'

/** Which part of a folder is of use: paths from its top, both of raw bytes written as Latin-1. */
export interface Wanted {
  readonly root: string
  readonly docs: string | undefined
}

/**
 * The paths of a listed folder that belong to skills: whole folders, single files that a SKILL.md leads to, and the folders
 * that stand although they are empty.
 */
export interface Choice {
  readonly whole: ReadonlySet<string>
  readonly files: ReadonlySet<string>
  readonly kept: ReadonlySet<string>
  /** What else could make it another one by a change: links, what they name and is not there, and what could not be looked into. */
  readonly noted: ReadonlySet<string>
}

/** What has a SKILL.md at or above it, what links lead to, and the docs folder. All else of the folder is never read. */
export function chooseWanted(top: ListedFolder, { root, docs }: Wanted): Choice {
  const places = new Places(top)
  const whole = new Set<string>()
  const files = new Set<string>()
  const below = places.folderAt(root)
  if (below !== undefined) addSkills(below, root, whole)
  if (docs !== undefined && places.folderAt(docs) !== undefined) whole.add(docs)
  const noted = new Set(unreadIn(top, ''))
  const kept = new Set([root, ...foldersAbove(root), ...(docs === undefined ? [] : [docs, ...foldersAbove(docs)])])
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

function addSkills(folder: ListedFolder, path: string, whole: Set<string>): void {
  if (hasDocument(folder)) {
    whole.add(path)
    return
  }
  for (const [name, entry] of folder.entries) {
    const at = joinPath(path, name)
    if (entry.kind === 'folder') addSkills(entry, at, whole)
  }
}

function hasDocument({ entries }: ListedFolder): boolean {
  return [...entries].some(([name, entry]) => isDocument(name) && isFileLike(entry))
}

function isFileLike(entry: FolderEntry): boolean {
  return entry.kind === 'file' || entry.kind === 'link' || (entry.kind === 'unread' && !entry.isFolder)
}

/** Whether a change at a raw path could make another choice, or is one of what was chosen. What is new may be of use anywhere. */
export function relevanceOf({ whole, files, kept, noted }: Choice): (path: string) => boolean {
  const chosen = [...whole, ...files, ...kept, ...noted]
  const paths = new Set([...chosen, ...chosen.flatMap((path) => Array.from(foldersAbove(path)))])
  return (path) => isDocument(path) || paths.has(path) || [...foldersAbove(path)].some((folder) => whole.has(folder))
}

/** Whatever its case: one that is misspelt is told. */
function isDocument(path: string): boolean {
  return /(?:^|\/)skill\.md$/i.test(path)
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

/** As the survey follows links: inside of the folder, through real folders alone. What it refuses leads nowhere here too. */
class Places {
  readonly #top: ListedFolder

  constructor(top: ListedFolder) {
    this.#top = top
  }

  folderAt(path: string): ListedFolder | undefined {
    const entry = this.#entryAt(path)
    return entry?.kind === 'folder' ? entry : undefined
  }

  /** Notes what it names on the way, there or not, unless it is a file: who writes to one makes no other choice. */
  follow(
    from: string,
    link: ListedLink,
    noted: Set<string>,
  ): { readonly path: string; readonly entry: FolderEntry } | undefined {
    let [path, text] = [from, link.text]
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      const target = targetOf(path, text.toString('latin1'))
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

const MAX_HOPS = 8

function targetOf(link: string, text: string): string | undefined {
  if (text === '' || text.startsWith('/')) return undefined
  const segments = folderOf(link) === '' ? [] : folderOf(link).split('/')
  for (const segment of text.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.join('/')
}
