import type { BigIntStats } from 'node:fs'
import { foldersAbove } from '../../../base/paths.ts'
import type { ObjectId } from '../../model/revision.ts'
import { relevanceOf, type Choice } from './folder-selection.ts'

/** The ids of files as they were, so that what did not change is not read again. One for a folder; bounded by what lies in it. */
export class FolderHashes {
  readonly #nowMs: () => number
  #known = new Map<string, Known>()
  #seen = new Map<string, Known>()
  /** The last that was made. */
  #choice: Choice | undefined
  /** By that choice; undefined where the last look failed before it had made one. */
  #isOfUse: ((path: string) => boolean) | undefined
  /** Until the look under way has listed the folder. */
  #listing: { readonly ended: PromiseWithResolvers<void>; asked: number } | undefined

  /** Wall clock: compared with the times of files. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /**
   * From here on it is a new look, or the same one anew: what is not asked for until the next one is forgotten, and what
   * changes is judged by what this one will choose.
   */
  begin(): void {
    if (this.#seen.size > 0) this.#known = this.#seen
    this.#seen = new Map()
    this.#isOfUse = undefined
    this.#listing ??= { ended: Promise.withResolvers(), asked: 0 }
  }

  /** What the look chose to read of what it has listed. */
  choose(choice: Choice): void {
    this.#choice = choice
    this.#isOfUse = relevanceOf(choice)
    this.end()
  }

  /** The look is over, whatever came of it. */
  end(): void {
    this.#listing?.ended.resolve()
    this.#listing = undefined
  }

  /** Whether there was a skill at the last look that there would be no more, or a file that one was a link to. */
  wouldLose({ whole, files }: Choice): boolean {
    if (this.#choice === undefined) return false
    const isIn = (path: string): boolean => [path, ...foldersAbove(path)].some((at) => whole.has(at))
    return (
      [...this.#choice.whole].some((path) => !whole.has(path)) ||
      [...this.#choice.files].some((path) => !files.has(path) && !isIn(path))
    )
  }

  /**
   * Whether the next look could find something else for what changed at this path: of UTF-8, not raw. The look under way may
   * have passed the place before, but knows better than the one before it what is of use. After one that failed anything is.
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
    if (known === undefined || known.mark !== markOf(stat)) return undefined
    this.#seen.set(path, known)
    return known.id
  }

  /**
   * Not kept of a file that was changed a moment ago: it may change again within what the file system takes for the same
   * instant. Git calls such an entry racily clean. Says whether it was kept.
   */
  keep(path: string, stat: BigIntStats, id: ObjectId): boolean {
    const changedMs = Number((stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs) / 1_000_000n)
    const isSettled = changedMs + SETTLED_MS < this.#nowMs()
    if (isSettled) this.#seen.set(path, { mark: markOf(stat), id })
    return isSettled
  }
}

interface Known {
  readonly mark: string
  readonly id: ObjectId
}

/** Changes whenever the file does: the time of the last change is nobody's to set. */
export function markOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(' ')
}

const MOST_ASKED = 10_000

/** More than the coarsest file system in use takes for an instant. */
const SETTLED_MS = 2_500
