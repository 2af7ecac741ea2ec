import { findLockedSkills } from './fallback-source.ts'
import type { Fallback } from './fallback-source.ts'
import { isLocked } from '../decisions/lock.ts'
import type { LockEntry } from '../decisions/lock.ts'
import { joinPath } from '../../base/paths.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { SyncError } from '../model/sync-error.ts'
import { RebuiltTree } from './rebuilt-tree.ts'
import { taken } from './fetch-snapshot.ts'
import type { Pull } from './pull-context.ts'
import type { TreeUpstream } from '../upstream/upstream.ts'

/** What is to be rebuilt, out of what, and an existing folder for it. */
export interface Rebuild {
  readonly entry: LockEntry
  readonly fallback: Fallback
  readonly scratch: string
}

/**
 * The locked commit of a source, out of what another server has of the locked skills; or why that cannot be. The skills are
 * proved by their digests, and the commit by nothing: the lock alone says that they were in it.
 */
export async function rebuilt(one: Pull, rebuild: Rebuild): Promise<Snapshot | { readonly why: string }> {
  const name = `its fallback "${rebuild.fallback.id}"`
  if (one.io.prove !== undefined)
    return { why: `${name} is no way for a source with \`signed\`: it has no commit that somebody signed` }
  if (rebuild.entry.docs !== undefined)
    return { why: `${name} is no way for a source with \`docs\`: they are locked, and no server lists them` }
  try {
    return await fromListing(one, rebuild)
  } catch (error) {
    // A disk of ours that says no will say yes again, and is nothing for the lock to answer for.
    if (error instanceof SyncError && error.code !== 'store-failed')
      return { why: `${name} does not give it: ${error.message}` }
    throw error
  }
}

async function fromListing(
  one: Pull,
  { entry, fallback, scratch }: Rebuild,
): Promise<Snapshot | { readonly why: string }> {
  const { id } = fallback
  const { skills, missing } = findLockedSkills(entry, await fallback.list(one.signal))
  if (missing.length > 0) return { why: `its fallback "${id}" lists nothing with the digest of ${listed(missing)}` }
  const placed = new Map([...skills].map(([path, found]) => [joinPath(entry.root, path), found]))
  const tree = new RebuiltTree({ revision: entry.revision, root: entry.tree, fallback, scratch }, placed)
  const snapshot = await taken(one, entry.revision, upstreamOf(tree))
  // Nobody is to conclude from an equal tree of another commit: what was withheld is not in this one.
  const whole: Snapshot = { ...snapshot, folders: {}, rebuiltFrom: id }
  if (isLocked(entry, whole)) return whole
  return { why: `of what its fallback "${id}" has, this version makes other skills than are locked` }
}

/** Where nothing moves, and all that there is is the one commit. */
function upstreamOf(tree: RebuiltTree): TreeUpstream {
  return {
    kind: 'tree',
    resolve: async () => tree.revision,
    relation: async () => 'unknown',
    fetch: async () => tree,
  }
}

function listed(paths: readonly string[]): string {
  const some = paths.slice(0, MOST_NAMED).map((path) => `"${path}"`)
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : ''
  return `${some.join(', ')}${more}`
}

const MOST_NAMED = 5
