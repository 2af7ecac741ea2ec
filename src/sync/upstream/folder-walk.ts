import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { SyncError } from '../model/sync-error.ts'
import { diskCodeOf, isForbidden, isGone, type OpenFolder } from './open-folder.ts'
import { pathTo, shown } from './tree-object.ts'
import { namedLimit } from './upstream.ts'
import type { FetchLimits } from './upstream.ts'

/** Names of entries are raw bytes, written as Latin-1. */
export type FolderEntry = ListedFolder | ListedFile | ListedLink | Unopened

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

/** What stands there and cannot be taken: a socket, a pipe or a device; a folder that we may not read; one without a usable name. */
export interface Unopened {
  readonly kind: 'special' | 'forbidden' | 'unnamed'
}

export type WalkLimits = Pick<FetchLimits, 'files' | 'depth' | 'segmentBytes'>

/** All that stands in a folder, by names alone: links are read and not followed, no file is opened. */
export async function walkFolder(folder: OpenFolder, limits: WalkLimits, signal: AbortSignal): Promise<ListedFolder> {
  return new Walk(limits, signal).list(folder, '', 0)
}

/** It was there, and is another now: whoever began anew would see it as it is. */
export class FolderChanged extends Error {
  override readonly name = 'FolderChanged'
}

/** For `.catch` on what was just listed at this path: why it cannot be read. */
export function readFault(path: string): (cause: unknown) => never {
  return (cause) => {
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    if (isGone(cause)) throw new FolderChanged(path, { cause })
    throw new SyncError('source-unreachable', `Cannot read ${shown(legible(path))} of the folder: ${code}`, { cause })
  }
}

/** A raw path as a person reads it. */
export function legible(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}

/** Whether anything can be served by the name. */
export function isUsable(name: string, { segmentBytes }: Pick<FetchLimits, 'segmentBytes'>): boolean {
  return name.length <= segmentBytes && isUtf8(Buffer.from(name, 'latin1'))
}

class Walk {
  readonly #limits: WalkLimits
  readonly #signal: AbortSignal
  #count = 0

  constructor(limits: WalkLimits, signal: AbortSignal) {
    this.#limits = limits
    this.#signal = signal
  }

  async list(folder: OpenFolder, path: string, depth: number): Promise<ListedFolder> {
    if (depth > this.#limits.depth) throw this.#over('depth', path, depth)
    const found = await this.#namesIn(folder, path).catch(readFault(path))
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
      if (PASSED_OVER.has(dirent.name)) continue
      this.#signal.throwIfAborted()
      this.#count += 1
      // Before the next is read: a folder can hold millions.
      if (this.#count > this.#limits.files) throw this.#over('files', path, this.#count)
      found.set(dirent.name, dirent)
    }
    return found
  }

  async #look(folder: OpenFolder, path: string, dirent: Dirent, depth: number): Promise<FolderEntry> {
    const { name } = dirent
    if (dirent.isFile()) return FILE
    if (dirent.isSymbolicLink()) return { kind: 'link', text: await folder.link(name).catch(readFault(path)) }
    if (!dirent.isDirectory()) return { kind: 'special' }
    return isUsable(name, this.#limits) ? this.#enter(folder, name, path, depth) : { kind: 'unnamed' }
  }

  async #enter(folder: OpenFolder, name: string, path: string, depth: number): Promise<FolderEntry> {
    const opened = await folder.folder(name).catch((cause: unknown) => {
      if (isForbidden(cause)) return undefined
      return readFault(path)(cause)
    })
    if (opened === undefined) return { kind: 'forbidden' }
    await using below = opened
    return await this.list(below, path, depth + 1)
  }

  #over(limit: 'files' | 'depth', path: string, value: number): SyncError {
    const message = `Cannot take ${shown(legible(path))}: ${value} is over ${namedLimit(limit, this.#limits)}`
    return new SyncError('limit-exceeded', message)
  }
}

/** What a repository beside the skills keeps for itself, and what a package manager put there: large, and nobody's skill. */
export const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules'])

const FILE: ListedFile = { kind: 'file' }
