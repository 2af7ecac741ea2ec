import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { SyncError } from '../../model/sync-error.ts'
import { faultAt, legible, readFault, type PlaceFault } from './folder-error.ts'
import type { FollowedLinks } from './folder-links.ts'
import type { OpenFolder } from './open-folder.ts'
import { isDotGit, pathTo } from '../git/objects/tree-object.ts'
import { shown } from '../../../base/text/printable.ts'
import { namedLimit } from '../upstream.ts'
import type { FetchLimits } from '../upstream.ts'

/** Names of entries are raw bytes, written as Latin-1. */
export type FolderEntry = ListedFolder | ListedFile | ListedLink | Unopened | Unread

export interface ListedFolder {
  readonly kind: 'folder'
  readonly entries: ReadonlyMap<string, FolderEntry>
}

/** A plain file; of a skill, or of nobody. It was not looked at. */
export interface ListedFile {
  readonly kind: 'file'
}

export interface ListedLink {
  readonly kind: 'link'
  readonly text: Buffer
}

/** What stands there and cannot be taken: a socket, a pipe or a device; a folder without a usable name. */
export interface Unopened {
  readonly kind: 'special' | 'unnamed'
}

/** A folder or a link that could not be looked into, or that lies too deep to. */
export interface Unread {
  readonly kind: 'unread'
  readonly isFolder: boolean
  readonly reason: PlaceFault | 'too-far'
}

export interface Walking {
  readonly limits: Pick<FetchLimits, 'files' | 'depth' | 'segmentBytes'>
  /** Raw paths of folders that are taken for not there. */
  readonly passedOver: ReadonlySet<string>
  /** Links in the folder itself that are walked as the folders that they lead to. */
  readonly followed?: FollowedLinks | undefined
  /** What changes meanwhile is then told of that place, and no reason to begin anew. */
  readonly isLastAttempt: boolean
}

/** All that stands in a folder, by names alone: links are read and not followed, no file is opened. */
export async function walkFolder(folder: OpenFolder, walking: Walking, signal: AbortSignal): Promise<ListedFolder> {
  return new Walk(walking, signal).list(folder, '', 0).catch(readFault(''))
}

/** Whether anything can be served by the name. */
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
    // The order of a disk is any: the same folder is to fail in the same way.
    for (const [name, dirent] of [...found].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      this.#signal.throwIfAborted()
      entries.set(name, await this.#look(folder, pathTo(path, name), dirent, depth))
    }
    return { kind: 'folder', entries }
  }

  async #namesIn(folder: OpenFolder, path: string): Promise<Map<string, Dirent>> {
    const found = new Map<string, Dirent>()
    for await (const dirent of await folder.entries()) {
      if (isPassedOver(legible(dirent.name)) || this.#passedOver.has(pathTo(path, dirent.name))) continue
      this.#signal.throwIfAborted()
      this.#count += 1
      // Before the next is read: a folder can hold millions.
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
      return { kind: 'unread', isFolder: false, reason: faultAt(path, cause, this.#isLastAttempt) }
    }
  }

  async #enter(folder: OpenFolder, name: string, path: string, depth: number): Promise<FolderEntry> {
    if (depth >= this.#limits.depth) return { kind: 'unread', isFolder: true, reason: 'too-far' }
    try {
      await using below = await folder.folder(name)
      return await this.list(below, path, depth + 1)
    } catch (cause) {
      return { kind: 'unread', isFolder: true, reason: faultAt(path, cause, this.#isLastAttempt) }
    }
  }

  #tooMany(path: string): SyncError {
    const message = `Cannot take ${shown(legible(path))}: ${this.#count} is over ${namedLimit('files', this.#limits)}`
    return new SyncError('limit-exceeded', message)
  }
}

/**
 * What a repository beside the skills keeps for itself, and what a package manager put there: large, and nobody's skill.
 * What some file system takes for `.git` could stand in no commit either.
 */
export function isPassedOver(name: string): boolean {
  return name === 'node_modules' || isDotGit(name)
}

const FILE: ListedFile = { kind: 'file' }
