import { DeclaredTree } from '../../model/listing-paths.ts'
import { isBelow } from '../../../base/paths.ts'
import { SyncError } from '../../model/sync-error.ts'
import { pathOfUri } from './listed-files.ts'
import { skillPathOf, uriOfFile } from './listing-context.ts'
import type { Looking } from './listing-context.ts'
import type { UnreadFile } from './file-cache.ts'

/** True of a file that the server gave. */
type Had = (file: UnreadFile) => Promise<boolean>

/**
 * The files that skills name by links and no list has, over one look: the server is asked for each, and what it has is all that can be
 * known of them. How many it is asked for is bounded, for a skill and for the look.
 */
export class LinkedFiles {
  #left = MOST_IN_A_LOOK
  /** The server left such a request without an answer: it may do so whenever it has no such file. */
  #isMute = false

  /** Has those read that the links of the SKILL.md at this URI name below its folder, as far as they can all lie in one. */
  async read(document: Uint8Array, uri: string, looking: Looking, read: Had): Promise<void> {
    const { rules, signal } = looking
    const paths = await rules.reader.linkedIn(document, signal)
    const tree = new DeclaredTree()
    tree.add('SKILL.md')
    for (const path of paths.slice(0, rules.skill.files - 1)) {
      const file = fileAt(path, uri)
      if (file === undefined) continue
      if (this.#left === 0) return
      this.#left -= 1
      // One that is not there is in the way of no other.
      if (tree.twinOf(path) === undefined && (await this.#isHad(file, read, looking))) tree.add(path)
    }
  }

  /**
   * A failure that says nothing of the file counts where another look has read it. Of one that was never there it is all the same why it
   * cannot be had.
   */
  async #isHad(file: UnreadFile, read: Had, { shelf, signal }: Looking): Promise<boolean> {
    const isKnown = await shelf.isKnown(file)
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

/** As many as one walk through folders may meet. */
const MOST_IN_A_LOOK = 10_000

/** Undefined where the path leads to nothing below the skill. */
function fileAt(path: string, uri: string): UnreadFile | undefined {
  if (!path.isWellFormed()) return undefined
  const file = uriOfFile(uri, path)
  const isInside = isBelow(pathOfUri(file) ?? '', skillPathOf(uri) ?? '')
  return isInside ? { uri: file, said: '', sha256: undefined, size: undefined } : undefined
}
