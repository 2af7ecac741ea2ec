import { isBelow } from '../../../../base/paths.ts'
import type { ObjectId } from '../../../model/revision.ts'
import type { GitObject } from './git-object.ts'
import { walkTrees, type TreeLimits } from './tree-walk.ts'
import type { KnownTrees } from '../../upstream.ts'

/**
 * The tree that all known trees lie in. A server that is told that we have it leaves out what is in it. Undefined where there is
 * none, or too little would be left out: it can take a second request, and some ten trees are sent in a kilobyte.
 */
export function outermost({ byPath }: KnownTrees): ObjectId | undefined {
  if (byPath.size < WORTH_A_REQUEST) return undefined
  const [first, ...others] = [...byPath.keys()].toSorted((a, b) => a.length - b.length)
  return first !== undefined && others.every((path) => isBelow(path, first)) ? byPath.get(first) : undefined
}

const WORTH_A_REQUEST = 200

/** The trees below a root that are neither known where they stand nor there: they stood elsewhere, and were left out. */
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
