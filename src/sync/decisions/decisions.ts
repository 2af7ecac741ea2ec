import type { ObjectId, Revision } from '../model/revision.ts'
import type { SourceId } from '../model/source-id.ts'

/** What people decided about the sources. It outlives restarts, and no pull undoes it. */
export type Decisions = ReadonlyMap<SourceId, Decision>

/** What was decided about one source. Each part by itself. */
export interface Decision {
  /** It is not looked at. */
  readonly paused?: true
  /** It stays at this commit, wherever the ref goes. */
  readonly frozen?: { readonly commit: ObjectId; readonly by: 'pin' | 'rollback' }
  /** This is not taken; what comes after it is. */
  readonly skipped?: Pick<Revision, 'commit' | 'tag'> & { readonly by: 'rollback' | 'reject' }
  /** Exactly this is taken, brakes or not. */
  readonly approved?: Pick<Revision, 'commit' | 'tag'>
}

export const UNDECIDED: Decision = {}

/** What of a revision a decision is about. */
export function identityOf({ commit, tag }: Revision): Pick<Revision, 'commit' | 'tag'> {
  return tag === undefined ? { commit } : { commit, tag }
}

/** Whether the decision is about this very revision: a tag that was made anew is another one. */
export function isAbout(part: Pick<Revision, 'commit' | 'tag'> | undefined, revision: Revision): boolean {
  return part !== undefined && part.commit === revision.commit && part.tag === revision.tag
}

/** Whether a person said yes to exactly this: approved it, or named its commit for the source to stay at. */
export function isWanted({ approved, frozen }: Decision, revision: Revision): boolean {
  return isAbout(approved, revision) || frozen?.commit === revision.commit
}

/** What is left of it once what was approved is served, where nothing was served before. */
export function unapproved({ approved: _served, ...rest }: Decision): Decision {
  return rest
}

/** What is left of it once the revision is served: what was said of a candidate is done with. */
export function settled({ paused, frozen }: Decision): Decision {
  return { ...(paused !== undefined && { paused }), ...(frozen !== undefined && { frozen }) }
}
