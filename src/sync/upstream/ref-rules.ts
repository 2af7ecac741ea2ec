import { isObjectId, type ObjectId, type Revision } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'

/** A name in a repository and the object it points to. */
export interface Ref {
  /** `HEAD`, or in full: `refs/heads/main`. */
  readonly name: string
  readonly id: ObjectId
  /** The ref that this one stands for, as HEAD stands for the default branch. */
  readonly target?: string
  /** What an annotated tag leads to in the end; `id` is then the tag object. */
  readonly peeled?: ObjectId
}

/** The revision that needs no listing, because a commit id was asked for. */
export function revisionOfCommit(asked: string | undefined): Revision | undefined {
  const id = asked?.toLowerCase()
  return id !== undefined && isObjectId(id) ? { asked, ref: id, commit: id } : undefined
}

/** The full names that `asked` can mean, in no order: two that exist are one too many. */
export function candidatesOf(asked: string | undefined): readonly string[] {
  if (asked === undefined || asked === 'HEAD') return ['HEAD']
  if (asked.startsWith('refs/')) return [asked]
  return [`refs/heads/${asked}`, `refs/tags/${asked}`]
}

/**
 * Where `asked` points in a listing; undefined if nothing in it is meant. The listing may hold more than was asked for,
 * since servers match by prefix.
 */
export function chooseRef(asked: string | undefined, listing: readonly Ref[], source: string): Revision | undefined {
  const candidates = candidatesOf(asked)
  const [found, other] = listing.filter((ref) => candidates.includes(ref.name))
  if (found === undefined) return undefined
  if (other !== undefined) {
    const names = [found.name, other.name].sort().join('" and "')
    throw new SyncError('ref-ambiguous', `Cannot resolve "${asked}" of "${source}": there are "${names}"`)
  }
  const place = { asked, ref: nameOf(found) }
  return found.peeled === undefined ? { ...place, commit: found.id } : { ...place, commit: found.peeled, tag: found.id }
}

/** Why nothing was found. `isEmpty`: the repository has no branch and no tag at all. */
export function refNotFound(asked: string | undefined, source: string, isEmpty: boolean): SyncError {
  const what = asked === undefined ? `the default branch of "${source}"` : `"${asked}" of "${source}"`
  const why = isEmpty ? 'the repository has no commits' : 'no such ref'
  const isDangling = !isEmpty && candidatesOf(asked)[0] === 'HEAD'
  return new SyncError('ref-not-found', `Cannot resolve ${what}: ${isDangling ? 'its HEAD points to no branch' : why}`)
}

/** The branch that HEAD stands for. A server can claim any target, so one that is no name of a branch is not repeated. */
function nameOf(ref: Ref): string {
  const isBranch = ref.target !== undefined && /^refs\/heads\/[^\p{Cc}\p{Cf}\s]{1,255}$/u.test(ref.target)
  return isBranch && ref.target !== undefined ? ref.target : ref.name
}
