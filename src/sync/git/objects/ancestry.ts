import type { ObjectId } from '../../model/revision.ts'
import { parentsOf } from '../../upstream/objects/git-object.ts'
import type { Relation } from '../../upstream/upstream.ts'
import type { ObjectSource } from './object-source.ts'

/** The commits that were read, with their parents; each was verified against its id. */
export type Parents = ReadonlyMap<ObjectId, readonly ObjectId[]>

/**
 * Returns the relation of a commit to an earlier one, from these commits alone. `rewritten` needs no complete history
 * of `to`: it is certain as soon as `from` descends from every unread commit, because an ancestor of `from` cannot
 * descend from `from`.
 */
export function relationIn(parents: Parents, from: ObjectId, to: ObjectId): Relation {
  const behind = ancestorsOf(to, parents)
  if (behind.has(from)) return 'descends'
  const before = ancestorsOf(from, parents)
  return [...behind].every((id) => parents.has(id) || before.has(id)) ? 'rewritten' : 'unknown'
}

type ReadObject = ObjectSource['read']

/** Returns the relation of two commits if objects can be read one by one. Reads no more than needed. */
export async function readRelation(from: ObjectId, to: ObjectId, read: ReadObject): Promise<Relation> {
  const parents = new Map<ObjectId, readonly ObjectId[]>()
  await walk(to, from, parents, read)
  const relation = relationIn(parents, from, to)
  if (relation !== 'unknown') return relation
  await walk(from, to, parents, read)
  return relationIn(parents, from, to)
}

/** Reads the ancestors of a commit breadth first, each once, until another commit is among them. */
async function walk(
  start: ObjectId,
  until: ObjectId,
  parents: Map<ObjectId, readonly ObjectId[]>,
  read: ReadObject,
): Promise<void> {
  const most = parents.size + HISTORY_LIMITS.depth
  const found = new Set([start])
  for (const id of found) {
    if (parents.size >= most || found.has(until)) return
    const object = parents.has(id) ? undefined : await read(id)
    if (object?.type !== 'commit') continue
    const named = parentsOf(object.bytes)
    parents.set(id, named)
    for (const parent of named) found.add(parent)
  }
}

/** Returns the commit and its ancestors, including those that were named but not read. */
function ancestorsOf(commit: ObjectId, parents: Parents): ReadonlySet<ObjectId> {
  const found = new Set([commit])
  // Iteration of a set includes elements that are added meanwhile.
  for (const id of found) for (const parent of parents.get(id) ?? []) found.add(parent)
  return found
}

/** Limits for reading a history. The relation to anything beyond is `unknown`. */
export const HISTORY_LIMITS = {
  /** Maximum depth in commits. */
  depth: 4096,
  /** Maximum commits in one answer. Twice that many can be held. */
  commits: 2 ** 14,
  /** Maximum of named parents in total. */
  parents: 2 ** 16,
  /** Maximum bytes of one commit: its message, signature and merged tags. */
  commitBytes: 2 ** 20,
  /** Maximum bytes of all answers on the wire. */
  bytes: 2 ** 23,
  /** Maximum total time. */
  ms: 30_000,
} as const
