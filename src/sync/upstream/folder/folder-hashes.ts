import type { BigIntStats } from 'node:fs'
import { foldersAbove } from '../../../base/paths.ts'
import type { ObjectId } from '../../model/revision.ts'
import { relevanceOf, type FolderFilter } from './folder-selection.ts'

/**
 * Caches the ids of a folder's files, so that unchanged files are not read again. One cache per folder, bounded by its
 * content.
 */
export class FolderHashes {
  readonly #nowMs: () => number
  #known = new Map<string, Known>()
  #seen = new Map<string, Known>()
  /** The last choice. */
  #choice: FolderFilter | undefined
  /** The relevance by that choice; `undefined` if the last read failed before its choice. */
  #isOfUse: ((path: string) => boolean) | undefined
  /** The current read, until it has listed the folder. */
  #listing: { readonly ended: PromiseWithResolvers<void>; asked: number } | undefined

  /** The wall clock, because it is compared with file times. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /**
   * Begins a read or a new attempt. Entries that it does not request are dropped at the next `begin`, and changes are
   * judged by its own choice.
   */
  begin(): void {
    if (this.#seen.size > 0) this.#known = this.#seen
    this.#seen = new Map()
    this.#isOfUse = undefined
    this.#listing ??= { ended: Promise.withResolvers(), asked: 0 }
  }

  /** Sets the choice of the current read among the listed paths, and the rule of those that were not listed. */
  choose(choice: FolderFilter, isPassedOver?: (path: string) => boolean): void {
    this.#choice = choice
    this.#isOfUse = relevanceOf(choice, isPassedOver)
    this.end()
  }

  /** Ends the read, with any result. */
  end(): void {
    this.#listing?.ended.resolve()
    this.#listing = undefined
  }

  /** True if the new choice lacks a skill of the last one, or a file that a link led to. */
  wouldLose({ whole, files }: FolderFilter): boolean {
    if (this.#choice === undefined) return false
    const isIn = (path: string): boolean => [path, ...foldersAbove(path)].some((at) => whole.has(at))
    return (
      [...this.#choice.whole].some((path) => !whole.has(path)) ||
      [...this.#choice.files].some((path) => !files.has(path) && !isIn(path))
    )
  }

  /**
   * True if a change at this path could affect the next read; the path is UTF-8, not raw. Waits for the choice of the
   * current read: that read may have passed the path already, but its choice is newer. After a failed read every change
   * counts.
   */
  async isOfUse(path: string): Promise<boolean> {
    if (this.#listing !== undefined) {
      // A build can write thousands of files meanwhile, and a disk can hang.
      if (this.#listing.asked >= MOST_ASKED) return true
      this.#listing.asked += 1
      await this.#listing.ended.promise
    }
    return this.#isOfUse?.(Buffer.from(path).toString('latin1')) ?? true
  }

  idOf(path: string, stat: BigIntStats): ObjectId | undefined {
    const known = this.#known.get(path) ?? this.#seen.get(path)
    if (known === undefined || known.mark !== fileMarkOf(stat)) return undefined
    this.#seen.set(path, known)
    return known.id
  }

  /**
   * Caches the id of a file, unless it changed recently: it could change again within the same timestamp of the file
   * system. Git calls such an entry racily clean. Returns true if it was cached.
   */
  keep(path: string, stat: BigIntStats, id: ObjectId): boolean {
    const changedMs = Number((stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs) / 1_000_000n)
    const isSettled = changedMs + SETTLED_MS < this.#nowMs()
    if (isSettled) this.#seen.set(path, { mark: fileMarkOf(stat), id })
    return isSettled
  }
}

interface Known {
  readonly mark: string
  readonly id: ObjectId
}

/** Returns a mark that changes with the file: programs cannot set the ctime. */
export function fileMarkOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(' ')
}

const MOST_ASKED = 10_000

/** Longer than the timestamp granularity of any file system in use. */
const SETTLED_MS = 2_500
