import { createHash } from 'node:crypto'
import { joinPath } from '../../../base/paths.ts'
import { isObjectId, type ObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { RefusedBlob } from '../../model/tree.ts'
import { objectIdOf } from '../objects/git-object.ts'
import { LIMIT_KEYS, namedLimit } from '../upstream.ts'
import type { FetchLimits } from '../upstream.ts'
import { folderErrorAt } from './folder-error.ts'
import { hashFile } from './folder-file.ts'
import type { FolderHashes } from './folder-hashes.ts'
import type { FolderRest } from './folder-rest.ts'
import type { FolderFilter } from './folder-selection.ts'
import { isUsable } from './folder-walk.ts'
import type { FolderEntry, ListedFolder } from './folder-walk.ts'
import type { OpenFolder } from './open-folder.ts'

/** The git objects of a folder: every tree, and the location of each blob's content. */
export interface FolderObjects {
  readonly root: ObjectId
  readonly trees: ReadonlyMap<ObjectId, Uint8Array>
  readonly blobs: ReadonlyMap<ObjectId, BlobPlace>
}

/** A file by its raw path from the folder; or its bytes, or the text of a link; or the line that ignores it. */
export type BlobPlace = { readonly path: string } | { readonly bytes: Buffer } | { readonly ignoredBy: string }

/** The input for the objects. */
export interface ChosenFolder {
  readonly listed: ListedFolder
  readonly choice: FolderFilter
  readonly limits: FetchLimits
  readonly hashes: FolderHashes | undefined
  readonly rest: FolderRest | undefined
  /** Same as in `Walking`. */
  readonly isLastAttempt: boolean
}

/** Hashes the chosen part of a folder, and reads the files that are not cached. */
export async function treeObjectsOf(
  folder: OpenFolder,
  chosen: ChosenFolder,
  signal: AbortSignal,
): Promise<FolderObjects> {
  const hasher = new Hasher(chosen, signal)
  const root = await hasher.tree(folder, chosen.listed, '', false)
  return { root, trees: hasher.trees, blobs: hasher.blobs }
}

/**
 * The ids for entries without usable content. No object can have them, because an object's hash starts with another
 * header.
 */
export const NO_CONTENT: ReadonlyMap<ObjectId, RefusedBlob['reason']> = new Map(
  (['too-large', 'forbidden', 'unreadable', 'changing', 'too-far', 'special'] as const).map((reason) => [
    withoutContent(reason),
    reason,
  ]),
)

function withoutContent(reason: string): ObjectId {
  const id = createHash('sha256').update(`no content: ${reason}`).digest('hex')
  if (!isObjectId(id)) throw new TypeError(`"${id}" is not an object id`)
  return id
}

/** An entry of an open folder. `path`: from the folder that is read; `isWhole`: everything below it is taken. */
interface EntryPlace {
  readonly folder: OpenFolder
  readonly name: string
  readonly path: string
  readonly isWhole: boolean
}

interface Line {
  readonly mode: '100644' | '100755' | '120000' | '40000'
  readonly name: string
  readonly id: ObjectId
}

/** Maximum bytes of recently changed files that one read holds in memory. */
const MOST_HELD_BYTES = 16 * 2 ** 20

class Hasher {
  readonly trees = new Map<ObjectId, Uint8Array>()
  readonly blobs = new Map<ObjectId, BlobPlace>()
  readonly #chosen: ChosenFolder
  readonly #signal: AbortSignal
  readonly #holding = new Map<ListedFolder, boolean>()
  #bytes = 0
  #heldBytes = 0

  constructor(chosen: ChosenFolder, signal: AbortSignal) {
    this.#chosen = chosen
    this.#signal = signal
  }

  async tree(folder: OpenFolder, { entries }: ListedFolder, path: string, isInside: boolean): Promise<ObjectId> {
    const isWhole = isInside || this.#chosen.choice.whole.has(path)
    const lines: Line[] = []
    for (const [name, entry] of entries) {
      this.#signal.throwIfAborted()
      const at = joinPath(path, name)
      if (!this.#isOfUse(entry, at, isWhole)) continue
      lines.push(this.#isTooLong(at) ? tooFar(name) : await this.#line({ folder, name, path: at, isWhole }, entry))
    }
    return this.#keep(lines)
  }

  async #line(place: EntryPlace, entry: FolderEntry): Promise<Line> {
    const { name, path, isWhole } = place
    switch (entry.kind) {
      case 'folder':
        return this.#folder(place, entry)
      case 'file':
        return this.#file(place)
      case 'link': {
        const bytes = this.#chosen.choice.links.get(path) ?? entry.text
        const id = objectIdOf({ type: 'blob', bytes }, 'sha256')
        this.blobs.set(id, { bytes })
        return { mode: '120000', name, id }
      }
      case 'unnamed':
        return { mode: '40000', name, id: withoutContent('unnamed') }
      case 'special':
        return { mode: '100644', name, id: withoutContent(entry.kind) }
      case 'ignored': {
        const id = withoutContent(`ignored by ${entry.by}`)
        this.blobs.set(id, { ignoredBy: entry.by })
        return { mode: '40000', name, id }
      }
      case 'unread': {
        const isFile = !entry.isFolder && (isWhole || this.#chosen.choice.files.has(path))
        return { mode: isFile ? '100644' : '40000', name, id: withoutContent(entry.reason) }
      }
      default:
        return entry satisfies never
    }
  }

  async #folder({ folder, name, path, isWhole }: EntryPlace, entry: ListedFolder): Promise<Line> {
    const { isLastAttempt } = this.#chosen
    const opened = await folder.folder(name).catch((cause: unknown) => folderErrorAt(path, cause, isLastAttempt))
    if (typeof opened === 'string') return { mode: '40000', name, id: withoutContent(opened) }
    await using below = opened
    return { mode: '40000', name, id: await this.tree(below, entry, path, isWhole) }
  }

  async #file({ folder, name, path }: EntryPlace): Promise<Line> {
    const { limits, hashes, rest, isLastAttempt } = this.#chosen
    if (!isUsable(name, limits)) return { mode: '100644', name, id: withoutContent('unnamed') }
    const hashing = { path, blobBytes: limits.blobBytes, hashes, rest, isLastAttempt }
    const { executable, content } = await hashFile(folder, name, hashing, this.#signal)
    const mode = executable ? '100755' : '100644'
    if ('reason' in content) return { mode, name, id: withoutContent(content.reason) }
    const { id, size, bytes } = content
    this.#bytes += size
    if (this.#bytes > limits.packBytes)
      throw new SyncError('limit-exceeded', `Cannot take the files: over ${namedLimit('packBytes', limits)}`, {
        place: LIMIT_KEYS.packBytes,
      })
    this.blobs.set(id, bytes !== undefined && this.#hasRoomFor(bytes) ? { bytes } : { path })
    return { mode, name, id }
  }

  /**
   * True if the bytes fit into memory. A file that is rewritten constantly never reads the same twice, so the hashed
   * bytes themselves are used.
   */
  #hasRoomFor({ length }: Buffer): boolean {
    if (this.#heldBytes + length > MOST_HELD_BYTES) return false
    this.#heldBytes += length
    return true
  }

  /**
   * True if the entry belongs into the tree. Git has no empty folders either. An unread folder may contain skills.
   * Changes outside the skills must not matter.
   */
  #isOfUse(entry: FolderEntry, path: string, isWhole: boolean): boolean {
    const { choice } = this.#chosen
    switch (entry.kind) {
      case 'folder':
        return choice.kept.has(path) || this.#holdsAny(entry, path, isWhole || choice.whole.has(path))
      case 'link':
        return isWhole || choice.links.has(path)
      case 'unnamed':
        return true
      case 'ignored':
        return !isWhole && choice.files.has(path)
      case 'file':
      case 'special':
        return isWhole || choice.files.has(path)
      case 'unread':
        return isWhole || choice.files.has(path) || entry.reason !== 'changing'
      default:
        return entry satisfies never
    }
  }

  /** Cached, because each level above asks again. */
  #holdsAny(folder: ListedFolder, path: string, isWhole: boolean): boolean {
    const known = this.#holding.get(folder)
    if (known !== undefined) return known
    const holds = [...folder.entries].some(([name, entry]) => this.#isOfUse(entry, joinPath(path, name), isWhole))
    this.#holding.set(folder, holds)
    return holds
  }

  #keep(lines: readonly Line[]): ObjectId {
    const sorted = lines.toSorted((a, b) => (sortedBy(a) < sortedBy(b) ? -1 : 1))
    const bytes = Buffer.concat(
      sorted.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(id, 'hex')]),
    )
    const id = objectIdOf({ type: 'tree', bytes }, 'sha256')
    this.trees.set(id, bytes)
    return id
  }

  #isTooLong(path: string): boolean {
    return path.length > this.#chosen.limits.pathBytes
  }
}

/**
 * Creates the entry for a path that is too long. In a skill it counts as missing content; outside, it is reported as
 * not searched.
 */
function tooFar(name: string): Line {
  return { mode: '40000', name, id: withoutContent('too-far') }
}

/** Git sorts a folder's name as if it ended with a slash. */
function sortedBy({ mode, name }: Line): string {
  return mode === '40000' ? `${name}/` : name
}
