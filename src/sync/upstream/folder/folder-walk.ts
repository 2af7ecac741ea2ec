import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { printablePath } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'
import { pathTo } from '../objects/tree-object.ts'
import { LIMIT_KEYS, namedLimit } from '../upstream.ts'
import type { FetchLimits } from '../upstream.ts'
import { folderErrorAt, legiblePath, readFault, type PlaceFault } from './folder-error.ts'
import { isLeftByPrograms } from './left-by-programs.ts'
import type { FollowedLinks, OpenFolder } from './open-folder.ts'
import { undefinedIfAway } from './open-folder.ts'
import type { PassedOver } from './passed-over.ts'

/** An entry of a folder. Names are raw bytes, written as Latin-1. */
export type FolderEntry = ListedFolder | WalkedFile | ListedLink | Unopened | UnreadEntry | IgnoredDocument

export interface ListedFolder {
  readonly kind: 'folder'
  readonly entries: ReadonlyMap<string, FolderEntry>
}

/** A regular file, in a skill or not. It was not opened. */
export interface WalkedFile {
  readonly kind: 'file'
}

export interface ListedLink {
  readonly kind: 'link'
  readonly text: Buffer
}

/** An entry that cannot be taken: a socket, a pipe or a device; or a folder with an unusable name. */
export interface Unopened {
  readonly kind: 'special' | 'unnamed'
}

/** A folder or link that could not be read, or that is too deep. */
export interface UnreadEntry {
  readonly kind: 'unread'
  readonly isFolder: boolean
  readonly reason: PlaceFault | 'too-far'
}

/** A SKILL.md that an ignore file covers. It is kept for the finding alone. */
export interface IgnoredDocument {
  readonly kind: 'ignored'
  /** The line that covers it, as text for messages. */
  readonly by: string
}

export interface Walking {
  readonly limits: Pick<FetchLimits, 'files' | 'depth' | 'segmentBytes'>
  /** Raw paths of folders to skip. */
  readonly apart: ReadonlySet<string>
  /** The rule of what is no part of the folder. */
  readonly passedOver: PassedOver
  /** Links directly in the folder that are walked as their target folders. */
  readonly followed?: FollowedLinks | undefined
  /** True if a change during the read is reported for that place instead of causing a new attempt. */
  readonly isLastAttempt: boolean
}

/** Lists everything in a folder, by name only: links are read but not followed, and no file is opened. */
export async function walkFolder(folder: OpenFolder, walking: Walking, signal: AbortSignal): Promise<ListedFolder> {
  return new Walk(walking, signal).list(folder, '', 0).catch(readFault(''))
}

/** True if the name can be served. */
export function isUsable(name: string, { segmentBytes }: Pick<FetchLimits, 'segmentBytes'>): boolean {
  return name.length <= segmentBytes && isUtf8(Buffer.from(name, 'latin1'))
}

class Walk {
  readonly #walking: Walking
  readonly #limits: Walking['limits']
  readonly #signal: AbortSignal
  #count = 0

  constructor(walking: Walking, signal: AbortSignal) {
    this.#walking = walking
    this.#limits = walking.limits
    this.#signal = signal
  }

  async list(folder: OpenFolder, path: string, depth: number): Promise<ListedFolder> {
    await this.#walking.passedOver.enter(folder, path)
    const { found, ignored } = await this.#namesIn(folder, path)
    const entries = new Map<string, FolderEntry>()
    // Sorted, because the order of a disk is arbitrary, and the same folder must fail in the same way.
    for (const [name, dirent] of sorted(found)) {
      this.#signal.throwIfAborted()
      entries.set(name, await this.#look(folder, pathTo(path, name), dirent, depth))
    }
    for (const [name, { dirent, by }] of sorted(ignored)) {
      const search = { by, left: MOST_SEARCHED }
      const entry = await this.#documentsIn(folder, pathTo(path, name), dirent, search)
      if (entry !== undefined && search.left >= 0) entries.set(name, entry)
    }
    return { kind: 'folder', entries }
  }

  async #namesIn(folder: OpenFolder, path: string): Promise<NamesIn> {
    const found = new Map<string, Dirent>()
    const ignored = new Map<string, { readonly dirent: Dirent; readonly by: string }>()
    for await (const dirent of await folder.entries()) {
      const at = pathTo(path, dirent.name)
      if (this.#walking.apart.has(at)) continue
      this.#signal.throwIfAborted()
      const reason = this.#walking.passedOver.reasonOf(at, dirent.isDirectory())
      const isSought = reason?.kind === 'ignored' && (dirent.isDirectory() || isDocument(dirent.name))
      if (reason !== undefined && !isSought) continue
      this.#count += 1
      // Checked before the next entry is read: a folder can hold millions.
      if (this.#count > this.#limits.files) throw this.#tooMany(path)
      if (reason?.kind === 'ignored') ignored.set(dirent.name, { dirent, by: reason.by })
      else found.set(dirent.name, dirent)
    }
    return { found, ignored }
  }

  /** Searches an ignored entry for SKILL.md, so that no skill disappears without a word. */
  async #documentsIn(
    folder: OpenFolder,
    path: string,
    dirent: Dirent,
    search: { readonly by: string; left: number },
  ): Promise<FolderEntry | undefined> {
    this.#signal.throwIfAborted()
    search.left -= 1
    if (!dirent.isDirectory()) return isDocument(dirent.name) ? { kind: 'ignored', by: search.by } : undefined
    if (search.left < 0 || isLeftByPrograms(dirent.name, true) || !isUsable(dirent.name, this.#limits)) return undefined
    const entries = new Map<string, FolderEntry>()
    await using below = await folder.folder(dirent.name).catch(undefinedIfAway)
    if (below === undefined) return undefined
    for await (const inner of await below.entries()) {
      const entry = await this.#documentsIn(below, pathTo(path, inner.name), inner, search)
      if (entry !== undefined) entries.set(inner.name, entry)
      if (search.left < 0) break
    }
    return entries.size === 0 ? undefined : { kind: 'folder', entries }
  }

  async #look(folder: OpenFolder, path: string, dirent: Dirent, depth: number): Promise<FolderEntry> {
    const { name } = dirent
    if (dirent.isFile()) return FILE
    const isFollowed = depth === 0 && this.#walking.followed?.has(name) === true
    if (dirent.isSymbolicLink() && !isFollowed) return this.#link(folder, name, path)
    if (!dirent.isDirectory() && !isFollowed) return { kind: 'special' }
    return isUsable(name, this.#limits) ? this.#enter(folder, name, path, depth) : { kind: 'unnamed' }
  }

  async #link(folder: OpenFolder, name: string, path: string): Promise<FolderEntry> {
    try {
      return { kind: 'link', text: await folder.link(name) }
    } catch (cause) {
      return { kind: 'unread', isFolder: false, reason: folderErrorAt(path, cause, this.#walking.isLastAttempt) }
    }
  }

  async #enter(folder: OpenFolder, name: string, path: string, depth: number): Promise<FolderEntry> {
    if (depth >= this.#limits.depth) return { kind: 'unread', isFolder: true, reason: 'too-far' }
    try {
      await using below = await folder.folder(name)
      return await this.list(below, path, depth + 1)
    } catch (cause) {
      return { kind: 'unread', isFolder: true, reason: folderErrorAt(path, cause, this.#walking.isLastAttempt) }
    }
  }

  #tooMany(path: string): SyncError {
    const message = `Cannot take ${printablePath(legiblePath(path))}: ${this.#count} is over ${namedLimit('files', this.#limits)}`
    return new SyncError('limit-exceeded', message, { place: LIMIT_KEYS.files })
  }
}

interface NamesIn {
  readonly found: ReadonlyMap<string, Dirent>
  /** Ignored folders, and an ignored SKILL.md. */
  readonly ignored: ReadonlyMap<string, { readonly dirent: Dirent; readonly by: string }>
}

function sorted<Value>(entries: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** True for any case, because a misspelled name is reported. */
export function isDocument(path: string): boolean {
  return /(?:^|\/)skill\.md$/i.test(path)
}

/** An ignored folder with more entries is not searched: such a folder is the output of a build. */
const MOST_SEARCHED = 10_000

const FILE: WalkedFile = { kind: 'file' }
