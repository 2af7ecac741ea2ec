import type { ObjectId, Revision } from '../model/revision.ts'
import type { SourceId } from '../model/source-id.ts'

/** The operator's decisions about the sources. They outlive restarts, and no pull undoes them. */
export type Decisions = ReadonlyMap<SourceId, SourceDecision>

/** The decisions about one source. Each part is independent. */
export interface SourceDecision {
  /** The source is not fetched. */
  readonly paused?: true
  /** The source stays at this commit, wherever the ref moves. */
  readonly frozen?: { readonly commit: ObjectId; readonly by: 'pin' | 'rollback' }
  /** This revision is not taken; later ones are. */
  readonly skipped?: Pick<Revision, 'commit' | 'tag'> & { readonly by: 'rollback' | 'reject' }
  /** Exactly this revision is taken, even if a brake would hold it. */
  readonly approved?: Pick<Revision, 'commit' | 'tag'>
}

export const UNDECIDED: SourceDecision = {}

/** The part of a revision that a decision refers to. */
export function identityOf({ commit, tag }: Revision): Pick<Revision, 'commit' | 'tag'> {
  return tag === undefined ? { commit } : { commit, tag }
}

/** True if the decision is about exactly this revision. A tag that was created anew is a different one. */
export function isAbout(part: Pick<Revision, 'commit' | 'tag'> | undefined, revision: Revision): boolean {
  return part !== undefined && part.commit === revision.commit && part.tag === revision.tag
}

/** True if the operator chose exactly this revision: approved it, or named its commit for the source to stay at. */
export function isWanted({ approved, frozen }: SourceDecision, revision: Revision): boolean {
  return isAbout(approved, revision) || frozen?.commit === revision.commit
}

/** The rest of the decision after the approved revision is served, if nothing was served before. */
export function withoutApproval({ approved: _served, ...rest }: SourceDecision): SourceDecision {
  return rest
}

/** The rest of the decision after the revision is served: what concerned a candidate is done. */
export function withoutCandidate({ paused, frozen }: SourceDecision): SourceDecision {
  return { ...(paused !== undefined && { paused }), ...(frozen !== undefined && { frozen }) }
}
