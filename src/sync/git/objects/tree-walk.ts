import { foldersAbove, isBelow } from '../../../base/paths.ts'
import { printablePath } from '../../../base/text/printable.ts'
import { formatOf, type ObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { TreeEntry } from '../../model/tree.ts'
import { parseTree, pathTo } from '../../upstream/objects/tree-object.ts'
import { LIMIT_KEYS, namedLimit } from '../../upstream/upstream.ts'
import type { FetchLimits, KnownTrees } from '../../upstream/upstream.ts'

export type TreeLimits = Pick<FetchLimits, 'files' | 'segmentBytes' | 'pathBytes' | 'depth'>

/** Returns the bytes of a tree object, verified against its id. */
export type ReadTree = (id: ObjectId, path: string) => Promise<Uint8Array>

/**
 * Returns all trees below a root, each once, except known trees and their content. Eight small trees can name a hundred
 * million files. So the limits are checked with the sums of each tree, not by walking every path. Outside the requested
 * folders, as much is taken as the limits allow: a link may lead there.
 */
export async function walkTrees(root: ObjectId, known: KnownTrees, limits: TreeLimits, read: ReadTree) {
  const walk = new Walk(known, limits, read)
  await walk.visit(root, '', 0)
  await walk.visitRest(root)
  return walk.trees
}

/** The totals below one tree, relative to it. */
interface Extent {
  readonly entries: number
  readonly depth: number
  readonly pathBytes: number
}

class Walk {
  readonly trees = new Map<ObjectId, Uint8Array>()
  readonly #known: KnownTrees
  readonly #aboveKnown: ReadonlySet<string>
  readonly #limits: TreeLimits
  readonly #read: ReadTree
  readonly #extents = new Map<ObjectId, Extent>()
  /** The total entries of the trees taken, each tree once; bounds the memory. */
  #held = 0
  /** `undefined` if everything is requested. */
  #within: readonly string[] | undefined
  /** True during the walk outside the requested folders. */
  #isRest = false

  constructor(known: KnownTrees, limits: TreeLimits, read: ReadTree) {
    this.#known = known
    this.#aboveKnown = foldersAboveAll(known.byPath.keys())
    this.#limits = limits
    this.#read = read
    this.#within = known.within?.includes('') === true ? undefined : known.within
  }

  /**
   * Takes the trees outside the requested folders until a limit is reached. A damaged or refused tree there costs only
   * itself.
   */
  async visitRest(root: ObjectId): Promise<void> {
    if (this.#within === undefined) return
    this.#within = undefined
    this.#isRest = true
    await this.visit(root, '', 0).catch((error: unknown) => {
      if (!(error instanceof SyncError) || error.code !== 'limit-exceeded') throw error
    })
  }

  async visit(id: ObjectId, path: string, depth: number): Promise<Extent> {
    if (this.#isKnown(id, path)) return NOTHING
    // Below this path a tree may be left out that is taken elsewhere, so the cached extent does not apply.
    const isItsOwn = this.#aboveKnown.has(path) || !this.#isWanted(path)
    const extent = (isItsOwn ? undefined : this.#extents.get(id)) ?? (await this.#measure(id, path, depth))
    if (!isItsOwn) this.#extents.set(id, extent)
    this.#check('files', extent.entries, path)
    this.#check('depth', depth + extent.depth, path)
    // The extent counts a slash before each name, but the first name has none.
    this.#check('pathBytes', Buffer.byteLength(path) + extent.pathBytes - (path === '' ? 1 : 0), path)
    return extent
  }

  async #measure(id: ObjectId, path: string, depth: number): Promise<Extent> {
    this.#check('depth', depth, path)
    let [entries, deepest, pathBytes] = [0, 0, 0]
    for (const entry of await this.#takeOrPass(id, path)) {
      const place = pathTo(path, entry.name)
      if (!this.#isWanted(place) && !this.#leadsToWanted(place)) continue
      // In a large update most trees are known, and this avoids an await for them.
      const isLookedInto = entry.kind === 'folder' && !this.#isKnown(entry.id, place)
      const below = isLookedInto ? await this.visit(entry.id, place, depth + 1) : NOTHING
      entries += below.entries + 1
      deepest = Math.max(deepest, below.depth + 1)
      pathBytes = Math.max(pathBytes, Buffer.byteLength(entry.name) + 1 + below.pathBytes)
    }
    return { entries, depth: deepest, pathBytes }
  }

  #isWanted(path: string): boolean {
    return this.#within === undefined || this.#within.some((one) => path === one || isBelow(path, one))
  }

  #leadsToWanted(path: string): boolean {
    return this.#within?.some((one) => isBelow(one, path)) ?? false
  }

  #isKnown(id: ObjectId, path: string): boolean {
    return this.#known.byPath.get(path) === id
  }

  async #takeOrPass(id: ObjectId, path: string): Promise<readonly TreeEntry[]> {
    try {
      return await this.#take(id, path)
    } catch (error) {
      if (this.#isRest && error instanceof SyncError && error.code === 'content-refused') return []
      throw error
    }
  }

  async #take(id: ObjectId, path: string): Promise<readonly TreeEntry[]> {
    const held = this.trees.get(id)
    if (held !== undefined) return parseTree(held, formatOf(id), this.#limits.segmentBytes, path)
    const bytes = await this.#read(id, path)
    const entries = parseTree(bytes, formatOf(id), this.#limits.segmentBytes, path)
    if (this.#isWanted(path)) this.#held += entries.length
    this.#check('files', this.#held, path)
    this.trees.set(id, bytes)
    return entries
  }

  #check(limit: keyof TreeLimits, value: number, path: string): void {
    if (value <= this.#limits[limit]) return
    const message = `Cannot take ${printablePath(path)}: ${value} is over ${namedLimit(limit, this.#limits)}`
    throw new SyncError('limit-exceeded', message, limit === 'files' ? { place: LIMIT_KEYS.files } : {})
  }
}

function foldersAboveAll(paths: Iterable<string>): ReadonlySet<string> {
  const all = new Set<string>()
  for (const path of paths) {
    for (const above of foldersAbove(path)) {
      if (all.has(above)) break
      all.add(above)
    }
  }
  return all
}

const NOTHING: Extent = { entries: 0, depth: 0, pathBytes: 0 }
