import { isAbout, isWanted, type SourceDecision } from '../model/decisions/decisions.ts'
import { askedText, isObjectId, isSameAsked, isSameRevision, type Revision } from '../model/revision.ts'
import type { Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { isOlder } from '../model/tag-range.ts'
import type { Relation } from '../upstream/upstream.ts'

/** The state before a move: the served revision, and the target of the ref when it was last followed. */
export interface MovedFrom {
  readonly served: Revision | undefined
  readonly followed: Revision | undefined
}

/** A move of a ref to the revision that was found, and what the operator decided about the source. */
export interface RefMove extends MovedFrom {
  readonly source: Source
  readonly found: Revision
  readonly decision: SourceDecision
}

/** Called only if the result decides. */
export type RelationOf = (from: Revision, to: Revision) => Promise<Relation>

/**
 * The reason not to follow a ref that moved from the served revision, if it is known before anything is fetched.
 * `undefined`: nothing prevents it.
 */
export async function holdOnMove(move: RefMove, relationOf: RelationOf): Promise<SyncError | undefined> {
  const { source, served, followed, found, decision } = move
  const standing = standingHold(move)
  if (standing !== undefined) return standing
  if (isWanted(decision, found)) return undefined
  if (followed === undefined) return source.update === 'review' ? awaitingFirstReview(source, served, found) : undefined
  if (isSameRevision(followed, found)) return undefined
  const tag = source.brakes === 'hold' ? movedTag(source, followed, found) : undefined
  if (tag !== undefined) return tag
  const branch = await movedDefaultBranch(source, followed, found, relationOf)
  if (branch !== undefined) return branch
  return source.update === 'review' ? awaitingReview(source, followed, found, relationOf) : undefined
}

/** Applies an earlier decision of the operator, wherever the ref moves. */
function standingHold({ source, served, found, decision }: RefMove): SyncError | undefined {
  const { id } = source
  const { hold, skipped } = decision
  if (hold !== undefined && found.commit !== hold.commit) {
    return new SyncError('held', `"${id}" is held at ${hold.commit}; upstream is at ${revisionText(found)}`)
  }
  if (!isAbout(skipped, found) || (served !== undefined && isSameRevision(served, found))) return undefined
  const [code, how] =
    skipped?.by === 'reject' ? (['rejected', 'rejected'] as const) : (['rolled-back', 'rolled back from'] as const)
  return new SyncError(code, `"${id}" was ${how} ${revisionText(found)}; the next commit is considered again`)
}

/**
 * Holds a tag that moved: a tag must always name one commit. In a range, the highest version must not decrease by
 * itself either.
 */
function movedTag(source: Source, followed: Revision, found: Revision): SyncError | undefined {
  if (!followed.ref.startsWith(TAGS)) return undefined
  const name = followed.ref.slice(TAGS.length)
  // The spelling of the configured ref does not matter: writing the full name does not approve the new target.
  if (followed.ref === found.ref) {
    const moved = `tag "${name}" of "${source.id}" was at ${revisionText(followed)} and is at ${revisionText(found)} now`
    return new SyncError('tag-moved', `Cannot follow: ${moved}`)
  }
  if (!isSameAsked(followed.asked, found.asked)) return undefined
  const isNewer = typeof found.asked === 'object' && !isOlder(found.ref.slice(TAGS.length), name, found.asked)
  if (isNewer) return undefined
  const gone = `tag "${name}" of "${source.id}" (${revisionText(followed)}) is gone`
  const message = `Cannot follow: ${gone}, and ${askedText(found.asked)} is ${found.ref} (${revisionText(found)}) now`
  return new SyncError('tag-moved', message)
}

const TAGS = 'refs/tags/'

/**
 * Holds a change of the default branch, unless the new one continues from the followed commit, as a renamed branch
 * does.
 */
async function movedDefaultBranch(
  source: Source,
  followed: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError | undefined> {
  if (source.ref !== undefined || followed.asked !== undefined || followed.ref === found.ref) return undefined
  // A hold or a rollback by commit id was not a branch.
  if (isObjectId(followed.ref)) return undefined
  if (followed.commit === found.commit || (await relationOf(followed, found)) === 'descends') return undefined
  const message = `Cannot follow: the default branch of "${source.id}" was ${followed.ref} (${revisionText(followed)}) and is ${found.ref} (${revisionText(found)}) now`
  return new SyncError('default-branch-moved', message)
}

async function awaitingReview(
  source: Source,
  followed: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError> {
  const moved = `${found.ref} of "${source.id}" moved from ${revisionText(followed)} to ${revisionText(found)}`
  const isRewritten = followed.ref === found.ref && (await relationOf(followed, found)) === 'rewritten'
  if (isRewritten)
    return new SyncError('history-rewritten', `Cannot serve without approval: ${moved}, which does not lead to it`)
  return new SyncError('awaiting-approval', `Cannot serve without approval: ${moved}`)
}

/**
 * Holds the first commit of a source, or of a repository that replaces another in the configuration: it is as
 * unreviewed as any other.
 */
function awaitingFirstReview({ id }: Source, served: Revision | undefined, found: Revision): SyncError | undefined {
  // Another address of the same repository: a commit id stands for its content, whatever the origin.
  if (served !== undefined && served.commit === found.commit && served.tag === found.tag) return undefined
  const first = `${found.ref} of "${id}" is at ${revisionText(found)}, and nothing from there was approved before`
  return new SyncError('awaiting-approval', `Cannot serve without approval: ${first}`)
}

/** The commit, and the tag object if there is one: a tag that was created anew can name the same commit. */
export function revisionText({ commit, tag }: { readonly commit: string; readonly tag?: string | undefined }): string {
  return tag === undefined ? commit : `${commit} (tag object ${tag})`
}
