import type { ObjectId, Revision } from '../revision.ts'
import type { SourceId } from '../source-id.ts'
import type { Rule, SourceRule, StayRule } from './rules.ts'

/** The rules about the commits of the sources, as a pull asks for them. */
export type Decisions = ReadonlyMap<SourceId, SourceDecision>

/** The rules about one source. Each part is independent. */
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
export type Hold = Pick<StayRule, 'at' | 'reason'>

/** The hold of a source for all clients. */
export type SourceHold = Pick<StayRule, 'at' | 'reason' | 'commit' | 'noPoll'>

export const UNDECIDED: SourceDecision = {}

/** Sums the rules about sources up. */
export function decisionsOf(rules: readonly Rule[]): Decisions {
  const bySource = Map.groupBy(rules.filter(isOfSource), ({ on }) => on.source)
  return new Map([...bySource].map(([source, ofSource]) => [source, decisionOf(ofSource)]))
}

/** Sums the rules about one source up. */
export function decisionOf(rules: readonly SourceRule[]): SourceDecision {
  const stays = rules.filter((rule) => rule.effect === 'stay')
  const hold = stays.find(({ on }) => on.ring === undefined)
  const skip = rules.find((rule) => rule.effect === 'skip')
  const take = rules.find((rule) => rule.effect === 'take')
  const rings = stays.flatMap(({ on: { ring }, at, reason }) => (ring === undefined ? [] : [[ring, { at, reason }]]))
  return {
    ...(hold && { hold: { at: hold.at, reason: hold.reason, commit: hold.commit, noPoll: hold.noPoll } }),
    ...(skip && { skipped: { ...identityOf(skip.on), by: skip.isLeft === true ? 'rollback' : 'reject' } }),
    ...(take && { approved: identityOf(take.on) }),
    ...(rings.length > 0 && { ringHolds: Object.fromEntries(rings) }),
  }
}

/** True for a rule about the commits of a source. */
export function isOfSource(rule: Rule): rule is SourceRule {
  return rule.effect === 'stay' || rule.effect === 'skip' || rule.effect === 'take'
}

/** The part of a revision that a decision refers to. */
export function identityOf({
  commit,
  tag,
}: Pick<Revision, 'commit'> & { readonly tag?: ObjectId | undefined }): Pick<Revision, 'commit' | 'tag'> {
  return tag === undefined ? { commit } : { commit, tag }
}

/** True if the decision is about exactly this revision. A tag that was created anew is a different one. */
export function isAbout(
  part: { readonly commit: ObjectId; readonly tag?: ObjectId | undefined } | undefined,
  revision: Revision,
): boolean {
  return part !== undefined && part.commit === revision.commit && part.tag === revision.tag
}

/** True if the operator chose exactly this revision: approved it, or named its commit for the source to stay at. */
export function isWanted({ approved, hold }: SourceDecision, revision: Revision): boolean {
  return isAbout(approved, revision) || hold?.commit === revision.commit
}

/** The rules about a source after the approved revision is served, if nothing was served before. */
export function withoutApproval(rules: readonly SourceRule[]): readonly SourceRule[] {
  return rules.filter(({ effect }) => effect !== 'take')
}

/** The rules about a source after the revision is served: what concerned a candidate is done. */
export function withoutCandidate(rules: readonly SourceRule[]): readonly SourceRule[] {
  return rules.filter((rule) => rule.effect === 'stay')
}
