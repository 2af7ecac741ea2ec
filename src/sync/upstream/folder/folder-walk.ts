import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { printablePath } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'
import { isDotGit, pathTo } from '../git/objects/tree-object.ts'
import { namedLimit } from '../upstream.ts'
import type { FetchLimits } from '../upstream.ts'
import { folderErrorAt, legiblePath, readFault, type PlaceFault } from './folder-error.ts'
import type { FollowedLinks, OpenFolder } from './open-folder.ts'

/** An entry of a folder. Names are raw bytes, written as Latin-1. */
export type FolderEntry = ListedFolder | WalkedFile | ListedLink | Unopened | UnreadEntry

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

export interface Walking {
  readonly limits: Pick<FetchLimits, 'files' | 'depth' | 'segmentBytes'>
  /** Raw paths of folders to skip. */
  readonly passedOver: ReadonlySet<string>
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
  readonly #limits: Walking['limits']
  readonly #passedOver: ReadonlySet<string>
  readonly #followed: FollowedLinks | undefined
  readonly #isLastAttempt: boolean
  readonly #signal: AbortSignal
  #count = 0

  constructor({ limits, passedOver, followed, isLastAttempt }: Walking, signal: AbortSignal) {
    this.#limits = limits
    this.#followed = followed
    this.#passedOver = passedOver
    this.#isLastAttempt = isLastAttempt
    this.#signal = signal
  }

  async list(folder: OpenFolder, path: string, depth: number): Promise<ListedFolder> {
    const found = await this.#namesIn(folder, path)
    const entries = new Map<string, FolderEntry>()
    // Sorted, because the order of a disk is arbitrary, and the same folder must fail in the same way.
    for (const [name, dirent] of [...found].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      this.#signal.throwIfAborted()
      entries.set(name, await this.#look(folder, pathTo(path, name), dirent, depth))
    }
    return { kind: 'folder', entries }
  }

  async #namesIn(folder: OpenFolder, path: string): Promise<Map<string, Dirent>> {
    const found = new Map<string, Dirent>()
    for await (const dirent of await folder.entries()) {
      if (isPassedOver(legiblePath(dirent.name)) || this.#passedOver.has(pathTo(path, dirent.name))) continue
      this.#signal.throwIfAborted()
      this.#count += 1
      // Checked before the next entry is read: a folder can hold millions.
      if (this.#count > this.#limits.files) throw this.#tooMany(path)
      found.set(dirent.name, dirent)
    }
    return found
  }

  async #look(folder: OpenFolder, path: string, dirent: Dirent, depth: number): Promise<FolderEntry> {
    const { name } = dirent
    if (dirent.isFile()) return FILE
    const isFollowed = depth === 0 && this.#followed?.has(name) === true
    if (dirent.isSymbolicLink() && !isFollowed) return this.#link(folder, name, path)
    if (!dirent.isDirectory() && !isFollowed) return { kind: 'special' }
    return isUsable(name, this.#limits) ? this.#enter(folder, name, path, depth) : { kind: 'unnamed' }
  }

  async #link(folder: OpenFolder, name: string, path: string): Promise<FolderEntry> {
    try {
      return { kind: 'link', text: await folder.link(name) }
    } catch (cause) {
      return { kind: 'unread', isFolder: false, reason: folderErrorAt(path, cause, this.#isLastAttempt) }
    }
  }

  async #enter(folder: OpenFolder, name: string, path: string, depth: number): Promise<FolderEntry> {
    if (depth >= this.#limits.depth) return { kind: 'unread', isFolder: true, reason: 'too-far' }
    try {
      await using below = await folder.folder(name)
      return await this.list(below, path, depth + 1)
    } catch (cause) {
      return { kind: 'unread', isFolder: true, reason: folderErrorAt(path, cause, this.#isLastAttempt) }
    }
  }

  #tooMany(path: string): SyncError {
    const message = `Cannot take ${printablePath(legiblePath(path))}: ${this.#count} is over ${namedLimit('files', this.#limits)}`
    return new SyncError('limit-exceeded', message)
  }
}

/**
 * True for the folders of git and package managers: they are large and contain no skills of this source. A name that
 * some file system treats as `.git` could not be in a commit either.
 */
export function isPassedOver(name: string): boolean {
  return name === 'node_modules' || isDotGit(name)
}

const FILE: WalkedFile = { kind: 'file' }
