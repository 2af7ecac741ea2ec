import { isAbout, isWanted, type Decision } from '../decisions/decisions.ts'
import { askedText, isObjectId, isSameAsked, isSameRevision, type Revision } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import type { Followed } from '../model/tracked-ref.ts'
import { followed } from '../decisions/disabled-entries.ts'
import { MOST_PLACES, type DisabledSkills } from '../decisions/disabled-skills.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { isOlder } from '../model/tag-range.ts'
import type { Relation } from '../upstream/upstream.ts'

/** What there was before a move: what is served, and where the ref led when it was followed last. */
export interface Before {
  readonly served: Revision | undefined
  readonly followed: Revision | undefined
}

/** Asked only where the answer decides. */
export type RelationOf = (from: Revision, to: Revision) => Promise<Relation>

/**
 * Why a ref that moved from what is served is not followed, as far as that is known before anything is fetched. Undefined:
 * nothing is in the way.
 */
export async function holdOnMove(
  source: Source,
  { served, followed: held }: Before,
  found: Revision,
  decision: Decision,
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

/** What a person decided earlier stands, wherever the ref goes. */
function standingHold(
  { id }: Source,
  served: Revision | undefined,
  found: Revision,
  { frozen, skipped }: Decision,
): SyncError | undefined {
  if (frozen !== undefined && found.commit !== frozen.commit) {
    const [code, how] = frozen.by === 'pin' ? (['pinned', 'pinned'] as const) : (['rolled-back', 'held'] as const)
    return new SyncError(code, `"${id}" is ${how} at ${frozen.commit}; upstream is at ${described(found)}`)
  }
  if (!isAbout(skipped, found) || (served !== undefined && isSameRevision(served, found))) return undefined
  const [code, how] =
    skipped?.by === 'reject' ? (['rejected', 'rejected'] as const) : (['rolled-back', 'rolled back from'] as const)
  return new SyncError(code, `"${id}" was ${how} ${described(found)}; the next commit is taken`)
}

/** A tag means one commit for ever. In a range, the highest version does not go down by itself either. */
function movedTag(source: Source, held: Revision, found: Revision): SyncError | undefined {
  if (!held.ref.startsWith(TAGS)) return undefined
  const name = held.ref.slice(TAGS.length)
  // However it is asked for: to write the name in full is no yes to where it points now.
  if (held.ref === found.ref) {
    const moved = `tag "${name}" of "${source.id}" was at ${described(held)} and is at ${described(found)} now`
    return new SyncError('tag-moved', `Cannot follow: ${moved}`)
  }
  if (!isSameAsked(held.asked, found.asked)) return undefined
  const isNewer = typeof found.asked === 'object' && !isOlder(found.ref.slice(TAGS.length), name, found.asked)
  if (isNewer) return undefined
  const gone = `tag "${name}" of "${source.id}" (${described(held)}) is gone`
  const message = `Cannot follow: ${gone}, and ${askedText(found.asked)} is ${found.ref} (${described(found)}) now`
  return new SyncError('tag-moved', message)
}

const TAGS = 'refs/tags/'

/** A branch that was renamed goes on where it was; any other that became the default one is something else. */
async function movedDefaultBranch(
  source: Source,
  held: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError | undefined> {
  if (source.ref !== undefined || held.asked !== undefined || held.ref === found.ref) return undefined
  // What was pinned or rolled back to by its id was no branch.
  if (isObjectId(held.ref)) return undefined
  if (held.commit === found.commit || (await relationOf(held, found)) === 'descends') return undefined
  const message = `Cannot follow: the default branch of "${source.id}" was ${held.ref} (${described(held)}) and is ${found.ref} (${described(found)}) now`
  return new SyncError('default-branch-moved', message)
}

async function awaitingReview(
  source: Source,
  held: Revision,
  found: Revision,
  relationOf: RelationOf,
): Promise<SyncError> {
  const moved = `${found.ref} of "${source.id}" moved from ${described(held)} to ${described(found)}`
  const isRewritten = held.ref === found.ref && (await relationOf(held, found)) === 'rewritten'
  if (isRewritten)
    return new SyncError('history-rewritten', `Cannot follow unseen: ${moved}, which does not lead to it`)
  return new SyncError('awaiting-approval', `Cannot follow unseen: ${moved}`)
}

/** The first commit of a source, and of another repository that the operator names in its place, is as unseen as any other. */
function awaitingFirstReview({ id }: Source, served: Revision | undefined, found: Revision): SyncError | undefined {
  // Another address of the same repository: a commit is its content, wherever it is from.
  if (served !== undefined && served.commit === found.commit && served.tag === found.tag) return undefined
  const first = `${found.ref} of "${id}" is at ${described(found)}, and nothing from there was approved before`
  return new SyncError('awaiting-approval', `Cannot follow unseen: ${first}`)
}

/** A commit that takes away most of what there was is more often a mistake than meant. */
export function massDeletion(source: Source, earlier: Followed | undefined, next: Snapshot): SyncError | undefined {
  if (source.brakes.massDeletion === 'follow' || earlier === undefined) return undefined
  // The same commit under other rules: the operator left skills out.
  if (earlier.revision.commit === next.revision.commit) return undefined
  const [before, after] = [earlier.skills, offered(next.skills)]
  const isMost = after * 2 < before && before - after > SMALL_CHANGE
  // Whoever works in a folder takes out what they like; but one that is not mounted looks like one that was emptied.
  const isMass = before > 0 && (after === 0 || (isMost && source.kind !== 'directory'))
  if (!isMass) return undefined
  const message = `Cannot follow: of the ${before} skills of "${source.id}" at ${described(earlier.revision)} ${described(next.revision)} has ${after}`
  return new SyncError('mass-deletion', message)
}

/** A host that shows an older commit takes back what was mended since; so does one whose operator takes back a commit. */
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
  const message = `Cannot follow: ${found.ref} of "${id}" went back from ${described(before)} to ${described(found)}, ${how}`
  return new SyncError('history-rewritten', message)
}

/** A commit that has a disabled skill at more places than are remembered of it: from one that is not, its author could bring it back. */
export function disabledReturns(disabled: DisabledSkills, next: Snapshot): SyncError | undefined {
  const { full } = followed(disabled, [next])
  if (full === undefined) return undefined
  const message = `Cannot follow: ${described(next.revision)} of "${next.source}" has the disabled skill "${full.source}/${full.path}" at more than ${MOST_PLACES} places`
  return new SyncError('disabled-returns', message)
}

/** What the brakes need of a snapshot that was followed to. */
export function followedIn({ url, revision, skills }: Snapshot): Followed {
  return { url, revision, skills: offered(skills) }
}

/** So many skills may go without a word, however few there are. */
const SMALL_CHANGE = 5

function offered(skills: readonly Skill[]): number {
  return skills.filter(({ standing }) => standing !== 'withheld').length
}

/** The commit, and the tag object where there is one: a tag that was made anew can name the same commit. */
export function described({ commit, tag }: { readonly commit: string; readonly tag?: string | undefined }): string {
  return tag === undefined ? commit : `${commit} (tag object ${tag})`
}
