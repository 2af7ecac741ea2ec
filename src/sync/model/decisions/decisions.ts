import type { ObjectId, Revision } from '../revision.ts'
import type { SourceId } from '../source-id.ts'

/** The operator's decisions about the sources. They outlive restarts, and no pull undoes them. */
export type Decisions = ReadonlyMap<SourceId, SourceDecision>

/** The decisions about one source. Each part is independent. */
export interface SourceDecision {
  /** The source stays where it is, wherever its ref moves. */
  readonly hold?: SourceHold
  /** This revision is not taken; later ones are. */
  readonly skipped?: Pick<Revision, 'commit' | 'tag'> & { readonly by: 'rollback' | 'reject' }
  /** Exactly this revision is taken, even if a brake would stop it. */
  readonly approved?: Pick<Revision, 'commit' | 'tag'>
  /** The rings that take nothing of the source, by their ids. */
  readonly ringHolds?: Readonly<Record<string, Hold>>
}

/** The operator's hold: nothing new is taken until it is released. */
export interface Hold {
  readonly reason?: string
  /** ISO 8601, UTC. */
  readonly at: string
}

/** The hold of a source for all clients. */
export interface SourceHold extends Hold {
  /** Absent only for a source that is not polled, and of which nothing was served. */
  readonly commit?: ObjectId
  /** The host of the source is not asked either. */
  readonly noPoll?: true
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
export function isWanted({ approved, hold }: SourceDecision, revision: Revision): boolean {
  return isAbout(approved, revision) || hold?.commit === revision.commit
}

/** The rest of the decision after the approved revision is served, if nothing was served before. */
export function withoutApproval({ approved: _served, ...rest }: SourceDecision): SourceDecision {
  return rest
}

/** The rest of the decision after the revision is served: what concerned a candidate is done. */
export function withoutCandidate({ hold, ringHolds }: SourceDecision): SourceDecision {
  return {
    ...(hold !== undefined && { hold }),
    ...(ringHolds !== undefined && { ringHolds }),
  }
}

/** The decision after a ring of the source was held, or, with `undefined`, released. */
export function withRingHold(decision: SourceDecision, ring: string, hold: Hold | undefined): SourceDecision {
  const { ringHolds: before, ...rest } = decision
  const others = Object.entries(before ?? {}).filter(([id]) => id !== ring)
  const held = [...others, ...(hold === undefined ? [] : [[ring, hold] as const])]
  return held.length === 0 ? rest : { ...rest, ringHolds: Object.fromEntries(held) }
}
