import { isBelow } from '../../../base/paths.ts'
import type { ObjectId } from '../../model/revision.ts'
import type { GitObject } from '../../upstream/objects/git-object.ts'
import type { KnownTrees } from '../../upstream/upstream.ts'
import { walkTrees, type TreeLimits } from './tree-walk.ts'

/**
 * Returns the known tree that contains all other known trees. A server that gets it as a `have` leaves out its content.
 * `undefined` if there is no such tree, or if too little would be saved: a second request may be needed, and one
 * kilobyte holds about ten trees.
 */
export function outermost({ byPath }: KnownTrees): ObjectId | undefined {
  if (byPath.size < WORTH_A_REQUEST) return undefined
  const [first, ...others] = [...byPath.keys()].toSorted((a, b) => a.length - b.length)
  return first !== undefined && others.every((path) => isBelow(path, first)) ? byPath.get(first) : undefined
}

const WORTH_A_REQUEST = 200

/**
 * Returns the trees below a root that are neither known at their path nor in the pack. The server left them out because
 * they were known at another path.
 */
export async function lackingTrees(
  root: ObjectId,
  known: KnownTrees,
  limits: TreeLimits,
  read: (id: ObjectId) => GitObject | undefined,
): Promise<readonly ObjectId[]> {
  const lacking = new Set<ObjectId>()
  await walkTrees(root, known, limits, async (id) => {
    const object = read(id)
    if (object?.type === 'tree') return object.bytes
    lacking.add(id)
    return NO_ENTRIES
  })
  return [...lacking]
}

const NO_ENTRIES = new Uint8Array()
