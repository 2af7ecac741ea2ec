import type { ObjectId } from '../model/revision.ts'
import type { Relation } from './upstream.ts'

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
