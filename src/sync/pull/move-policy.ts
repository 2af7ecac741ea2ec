import { isAbout, isWanted, type SourceDecision } from '../decisions/decisions.ts'
import { followed } from '../decisions/disabled-entries.ts'
import { MOST_PLACES, type DisabledSkills } from '../decisions/disabled-skills.ts'
import { askedText, isObjectId, isSameAsked, isSameRevision, type Revision } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { isOlder } from '../model/tag-range.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import type { Relation } from '../upstream/upstream.ts'

/** The state before a move: the served revision, and the target of the ref when it was last followed. */
export interface Before {
  readonly served: Revision | undefined
  readonly followed: Revision | undefined
}

/** Called only if the result decides. */
export type RelationOf = (from: Revision, to: Revision) => Promise<Relation>

/**
 * The reason not to follow a ref that moved from the served revision, if it is known before anything is fetched.
 * `undefined`: nothing prevents it.
 */
export async function holdOnMove(
  source: Source,
  { served, followed: held }: Before,
  found: Revision,
  decision: SourceDecision,
  relationOf: RelationOf,
): Promise<SyncError | undefined> {
  const standing = standingHold(source, served, found, decision)
  if (standing !== undefined) return standing
  if (isWanted(decision, found)) return undefined
  if (held === undefined) return source.update === 'review' ? awaitingFirstReview(source, served, found) : undefined
  if (isSameRevision(held, found)) return undefined
  const tag = source.brakes.movedTag === 'hold' ? movedTag(source, held, found) : undefined
  if (tag !== undefined) return tag
  const branch = await movedDefaultBranch(source, held, found, relationOf)
  if (branch !== undefined) return branch
  return source.update === 'review' ? awaitingReview(source, held, found, relationOf) : undefined
}

/** Applies an earlier decision of the operator, wherever the ref moves. */
function standingHold(
  { id }: Source,
  served: Revision | undefined,
  found: Revision,
  { frozen, skipped }: SourceDecision,
): SyncError | undefined {
  if (frozen !== undefined && found.commit !== frozen.commit) {
    const [code, how] = frozen.by === 'pin' ? (['pinned', 'pinned'] as const) : (['rolled-back', 'held'] as const)
    return new SyncError(code, `"${id}" is ${how} at ${frozen.commit}; upstream is at ${revisionText(found)}`)
  }
  if (!isAbout(skipped, found) || (served !== undefined && isSameRevision(served, found))) return undefined
  const [code, how] =
    skipped?.by === 'reject' ? (['rejected', 'rejected'] as const) : (['rolled-back', 'rolled back from'] as const)
  return new SyncError(code, `"${id}" was ${how} ${revisionText(found)}; the next commit is taken`)
}

/**
 * Holds a tag that moved: a tag must always name one commit. In a range, the highest version must not decrease by
 * itself either.
 */
function movedTag(source: Source, held: Revision, found: Revision): SyncError | undefined {
  if (!held.ref.startsWith(TAGS)) return undefined
  const name = held.ref.slice(TAGS.length)
  // The spelling of the configured ref does not matter: writing the full name does not approve the new target.
  if (held.ref === found.ref) {
    const moved = `tag "${name}" of "${source.id}" was at ${revisionText(held)} and is at ${revisionText(found)} now`
    return new SyncError('tag-moved', `Cannot follow: ${moved}`)
  }
  if (!isSameAsked(held.asked, found.asked)) return undefined
  const isNewer = typeof found.asked === 'object' && !isOlder(found.ref.slice(TAGS.length), name, found.asked)
  if (isNewer) return undefined
  const gone = `tag "${name}" of "${source.id}" (${revisionText(held)}) is gone`
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
  held: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError | undefined> {
  if (source.ref !== undefined || held.asked !== undefined || held.ref === found.ref) return undefined
  // A pin or a rollback by commit id was not a branch.
  if (isObjectId(held.ref)) return undefined
  if (held.commit === found.commit || (await relationOf(held, found)) === 'descends') return undefined
  const message = `Cannot follow: the default branch of "${source.id}" was ${held.ref} (${revisionText(held)}) and is ${found.ref} (${revisionText(found)}) now`
  return new SyncError('default-branch-moved', message)
}

async function awaitingReview(
  source: Source,
  held: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError> {
  const moved = `${found.ref} of "${source.id}" moved from ${revisionText(held)} to ${revisionText(found)}`
  const isRewritten = held.ref === found.ref && (await relationOf(held, found)) === 'rewritten'
  if (isRewritten)
    return new SyncError('history-rewritten', `Cannot follow unseen: ${moved}, which does not lead to it`)
  return new SyncError('awaiting-approval', `Cannot follow unseen: ${moved}`)
}

/**
 * Holds the first commit of a source, or of a repository that replaces another in the configuration: it is as
 * unreviewed as any other.
 */
function awaitingFirstReview({ id }: Source, served: Revision | undefined, found: Revision): SyncError | undefined {
  // Another address of the same repository: a commit id stands for its content, whatever the origin.
  if (served !== undefined && served.commit === found.commit && served.tag === found.tag) return undefined
  const first = `${found.ref} of "${id}" is at ${revisionText(found)}, and nothing from there was approved before`
  return new SyncError('awaiting-approval', `Cannot follow unseen: ${first}`)
}

/** Holds a commit that removes most of the skills, which is more often a mistake than intended. */
export function massDeletion(source: Source, earlier: TrackedRef | undefined, next: Snapshot): SyncError | undefined {
  if (source.brakes.massDeletion === 'follow' || earlier === undefined) return undefined
  // The same commit under other rules: the operator left skills out.
  if (earlier.revision.commit === next.revision.commit) return undefined
  const [before, after] = [earlier.skills, offered(next.skills)]
  const isMost = after * 2 < before && before - after > SMALL_CHANGE
  // The owner of a folder may remove any skills; but a folder that is not mounted looks like an emptied one.
  const isMass = before > 0 && (after === 0 || (isMost && source.kind !== 'directory'))
  if (!isMass) return undefined
  const message = `Cannot follow: of the ${before} skills of "${source.id}" at ${revisionText(earlier.revision)} ${revisionText(next.revision)} has ${after}`
  return new SyncError('mass-deletion', message)
}

/**
 * The error for a branch that went back. A host that shows an older commit takes back later fixes; an owner who takes
 * back a commit has the same effect.
 */
export function olderCommit(
  { id }: Source,
  before: Revision,
  found: Revision,
  relation: Exclude<Relation, 'rewritten'>,
): SyncError {
  const how =
    relation === 'descends'
      ? 'which comes before it'
      : 'which is dated before it, and whose history the host does not show'
  const message = `Cannot follow: ${found.ref} of "${id}" went back from ${revisionText(before)} to ${revisionText(found)}, ${how}`
  return new SyncError('history-rewritten', message)
}

/**
 * Holds a commit that has a disabled skill at more places than its entry can remember: its author could bring it back
 * from a place that is not remembered.
 */
export function disabledReturns(disabled: DisabledSkills, next: Snapshot): SyncError | undefined {
  const { full } = followed(disabled, [next])
  if (full === undefined) return undefined
  const message = `Cannot follow: ${revisionText(next.revision)} of "${next.source}" has the disabled skill "${full.source}/${full.path}" at more than ${MOST_PLACES} places`
  return new SyncError('disabled-returns', message)
}

/** The part of a followed snapshot that the brakes need. */
export function followedIn({ url, revision, skills }: Snapshot): TrackedRef {
  return { url, revision, skills: offered(skills) }
}

/** The number of skills that may disappear without a hold, however few there are. */
const SMALL_CHANGE = 5

function offered(skills: readonly Skill[]): number {
  return skills.filter(({ standing }) => standing !== 'withheld').length
}

/** The commit, and the tag object if there is one: a tag that was created anew can name the same commit. */
export function revisionText({ commit, tag }: { readonly commit: string; readonly tag?: string | undefined }): string {
  return tag === undefined ? commit : `${commit} (tag object ${tag})`
}
