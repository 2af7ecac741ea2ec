import { isBelow } from '../../../base/paths.ts'
import { DeclaredTree } from '../../../sync/model/declared-tree.ts'
import { EntryUnanswered } from '../client/entry-requests.ts'
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

  /**
   * Reads the files that the SKILL.md at this URI links to below its folder, unless their paths conflict. Returns the
   * first silence of the server: it may leave requests unanswered for every file that it lacks, so only files that an
   * earlier listing has read are requested after it. Throws it if it is about such a file.
   */
  async read(document: Uint8Array, uri: string, looking: LinkReading, read: Had): Promise<EntryUnanswered | undefined> {
    const { rules, signal } = looking
    const paths = await rules.reader.linkedIn(document, signal)
    let silence: EntryUnanswered | undefined
    const tree = new DeclaredTree()
    tree.add('SKILL.md')
    for (const path of paths.slice(0, rules.skill.files - 1)) {
      const file = fileAt(path, uri)
      if (file === undefined) continue
      if (this.#left === 0) return silence
      this.#left -= 1
      // A missing file conflicts with no other.
      if (tree.twinOf(path) !== undefined) continue
      const had = await hadUnlessSilent(file, read, silence !== undefined, looking)
      if (had === true) tree.add(path)
      else if (had !== false) silence = had
    }
    return silence
  }
}

/** Reads the file; true if the server had it. For a file that no earlier listing has read, silence is a result. */
async function hadUnlessSilent(
  file: UnreadFile,
  read: Had,
  isMute: boolean,
  { fileCache }: LinkReading,
): Promise<boolean | EntryUnanswered> {
  const isKnown = await fileCache.isKnown(file)
  if (isMute && !isKnown) return false
  try {
    return await read(file)
  } catch (error) {
    if (isKnown || !(error instanceof EntryUnanswered)) throw error
    return error
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
