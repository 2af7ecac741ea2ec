import type { ObjectId } from '../../../model/revision.ts'
import { parentsOf } from './git-object.ts'
import type { Objects } from './object-source.ts'
import type { Relation } from '../../upstream.ts'

/** Commits and their parents, as far as they were read; each was hashed against its id. */
export type Parents = ReadonlyMap<ObjectId, readonly ObjectId[]>

/**
 * How one commit stands to an earlier one, by what was read alone. Where the history of `to` was not read to its end, it is
 * certain all the same once `from` is seen to descend from each commit that was not: what comes before it cannot have it.
 */
export function relationIn(parents: Parents, from: ObjectId, to: ObjectId): Relation {
  const behind = ancestorsOf(to, parents)
  if (behind.has(from)) return 'descends'
  const before = ancestorsOf(from, parents)
  return [...behind].every((id) => parents.has(id) || before.has(id)) ? 'rewritten' : 'unknown'
}

type ReadObject = Objects['read']

/** How two commits stand to each other where objects can be read one by one: no more is read than it takes. */
export async function readRelation(from: ObjectId, to: ObjectId, read: ReadObject): Promise<Relation> {
  const parents = new Map<ObjectId, readonly ObjectId[]>()
  await walk(to, from, parents, read)
  const relation = relationIn(parents, from, to)
  if (relation !== 'unknown') return relation
  await walk(from, to, parents, read)
  return relationIn(parents, from, to)
}

/** Reads the commits behind one, nearest first and each once, until another is among them. */
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

/** The commit and all before it, those included that are only named. */
function ancestorsOf(commit: ObjectId, parents: Parents): ReadonlySet<ObjectId> {
  const found = new Set([commit])
  // A set goes on to what was put into it on the way.
  for (const id of found) for (const parent of parents.get(id) ?? []) found.add(parent)
  return found
}

/** How far histories are looked into. What lies beyond is `unknown`. */
export const HISTORY_LIMITS = {
  /** Of commits, one behind the other. */
  depth: 4096,
  /** Of commits, in one answer. Twice that many can be held. */
  commits: 2 ** 14,
  /** Of parents that they name, all in all. */
  parents: 2 ** 16,
  /** Of one commit: its message, signature and merged tags. */
  commitBytes: 2 ** 20,
  /** Of all answers, as they come over the wire. */
  bytes: 2 ** 23,
  /** In all. */
  ms: 30_000,
} as const
