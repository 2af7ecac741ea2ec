import { isBelow } from '../../../base/paths.ts'
import { DeclaredTree } from '../../model/listing-paths.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { FileCache, UnreadFile } from './file-cache.ts'
import { pathOfUri, skillPathOf, uriOfFile } from './listed-files.ts'
import type { LookRules } from './look-rules.ts'

/** The parts of a listing that the search for linked files uses. */
export interface LinkReading {
  readonly rules: LookRules
  readonly fileCache: FileCache
  readonly signal: AbortSignal
}

/** Reads a file; true if the server had it. */
type Had = (file: UnreadFile) => Promise<boolean>

/**
 * Finds files that skills link to and no list has, over one listing. Each is requested from the server, which is the
 * only way to find them. The number of requests is limited, per skill and per listing.
 */
export class LinkedFiles {
  #left = MOST_IN_A_LOOK
  /** The server left such a request unanswered. It may do so for every file that it lacks. */
  #isMute = false

  /** Reads the files that the SKILL.md at this URI links to below its folder, unless their paths conflict. */
  async read(document: Uint8Array, uri: string, looking: LinkReading, read: Had): Promise<void> {
    const { rules, signal } = looking
    const paths = await rules.reader.linkedIn(document, signal)
    const tree = new DeclaredTree()
    tree.add('SKILL.md')
    for (const path of paths.slice(0, rules.skill.files - 1)) {
      const file = fileAt(path, uri)
      if (file === undefined) continue
      if (this.#left === 0) return
      this.#left -= 1
      // A missing file conflicts with no other.
      if (tree.twinOf(path) === undefined && (await this.#isHad(file, read, looking))) tree.add(path)
    }
  }

  /**
   * Reads the file; true if the server has it. An error that says nothing about the file counts only if an earlier
   * listing has read the file. For any other file, the reason for its absence does not matter.
   */
  async #isHad(file: UnreadFile, read: Had, { fileCache, signal }: LinkReading): Promise<boolean> {
    const isKnown = await fileCache.isKnown(file)
    if (this.#isMute && !isKnown) return false
    try {
      return await read(file)
    } catch (error) {
      signal.throwIfAborted()
      if (isKnown || !(error instanceof SyncError)) throw error
      this.#isMute = true
      return false
    }
  }
}

/** Equals the limit of a walk through folders. */
const MOST_IN_A_LOOK = 10_000

/** `undefined` if the path leads outside the skill. */
function fileAt(path: string, uri: string): UnreadFile | undefined {
  if (!path.isWellFormed()) return undefined
  const file = uriOfFile(uri, path)
  const isInside = isBelow(pathOfUri(file) ?? '', skillPathOf(uri) ?? '')
  return isInside ? { uri: file, said: '', sha256: undefined, size: undefined } : undefined
}
