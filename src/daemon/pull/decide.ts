import {
  identityOf,
  isAbout,
  withoutCandidate,
  type SourceDecision,
  type SourceHold,
} from '../../sync/model/decisions/decisions.ts'
import type { ObjectId, Revision } from '../../sync/model/revision.ts'
import { isAwaitingDecision, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import { revisionText } from '../../sync/pull/move-policy.ts'
import { OperatorError } from '../runtime/operator-error.ts'

/** The decisions that an operator can make about a source. */
export const VERBS = ['hold', 'release', 'approve', 'reject'] as const
export type Verb = (typeof VERBS)[number]

/** The details of a decision of an operator. */
export interface DecisionDetails {
  /** The full id of what is approved or rejected. */
  readonly commit?: string | undefined
  /** The tag object, if the ref is an annotated tag. */
  readonly tag?: string | undefined
  readonly hold?: HoldDetails
  /** The person who decides. */
  readonly by?: string | undefined
}

/** The details of a hold, as the operator gave them. */
export interface HoldDetails {
  readonly reason?: string | undefined
  readonly noPoll?: boolean | undefined
  /** The person who decides. */
  readonly by?: string | undefined
}

/** The facts that a decision depends on. */
export interface Situation extends DecisionDetails {
  readonly source: string
  readonly now: Date
  readonly served: Revision | undefined
  /** The last known upstream revision, if it is not served. */
  readonly waiting: Revision | undefined
  /** The number of its skills that wait for their own approval. */
  readonly pending: number
}

/** A revision that waits for a decision, and the reason. */
export interface CandidateRevision {
  readonly revision: Revision
  readonly code: SyncErrorCode
  readonly message: string
}

/**
 * Applies the verb to the decision about a source. Throws if there is nothing to decide; the message says what there
 * is.
 */
export function decisionAfter(verb: Verb, before: SourceDecision, situation: Situation): SourceDecision {
  const { skipped } = before
  switch (verb) {
    case 'hold':
      return { ...before, hold: holdOf(situation) }
    case 'release': {
      if (before.hold === undefined && skipped?.by !== 'rollback') throw nothing(notHeld(situation.source, before))
      const { hold: _ended, ...rest } = before
      return skipped?.by === 'rollback' ? omit(rest, 'skipped') : rest
    }
    case 'approve': {
      const candidate = candidateOf(situation, before.hold, 'approve')
      const rest = isAbout(skipped, candidate) ? omit(before, 'skipped') : before
      return { ...rest, approved: identityOf(candidate) }
    }
    case 'reject': {
      const candidate = candidateOf(situation, before.hold, 'reject')
      return { ...omit(before, 'approved'), skipped: { ...identityOf(candidate), by: 'reject' } }
    }
    default:
      return verb satisfies never
  }
}

/**
 * The decision about a source after a rollback: the revision it left is skipped. A hold moves along: it would take the
 * source back at the next pull.
 */
export function decisionAfterRollback(
  before: SourceDecision,
  from: Revision | undefined,
  to: Revision,
): SourceDecision {
  const { hold, skipped: _skipped, approved: _approved, ...rest } = before
  if (hold !== undefined) return { ...rest, hold: { ...hold, commit: to.commit } }
  const isLeft = from !== undefined && !isAbout(identityOf(from), to)
  return { ...rest, ...(isLeft && { skipped: { ...identityOf(from), by: 'rollback' } }) }
}

/** The decision about a source that stays at a commit from now on. What concerned a candidate is done. */
export function decisionAfterHold(
  before: SourceDecision,
  commit: ObjectId,
  details: HoldDetails,
  now: Date,
): SourceDecision {
  return { ...withoutCandidate(before), hold: { commit, ...holdNow(details, now) } }
}

function holdOf({ source, served, hold = {}, now }: Situation): SourceHold {
  if (served !== undefined) return { commit: served.commit, ...holdNow(hold, now) }
  if (hold.noPoll === true) return holdNow(hold, now)
  throw nothing(`Nothing of "${source}" is served that it could be held at; name a full commit id`)
}

function holdNow({ reason, noPoll }: HoldDetails, now: Date): Omit<SourceHold, 'commit'> {
  return { ...(noPoll === true && { noPoll }), ...(reason !== undefined && { reason }), at: now.toISOString() }
}

/**
 * The waiting revision, which must be exactly the one that the operator named: another may have arrived since it was
 * shown.
 */
function candidateOf(situation: Situation, hold: SourceHold | undefined, verb: 'approve' | 'reject'): Revision {
  const { source, commit, tag } = situation
  const waiting = expectWaiting(situation, hold, verb)
  if (commit === waiting.commit && tag === waiting.tag) return waiting
  const named = commit === undefined ? 'what is not named' : revisionText({ commit, tag })
  throw nothing(
    `Cannot ${verb} ${named}: what waits of "${source}" is ${revisionText(waiting)}; skillsyncd approve ${source} shows it`,
  )
}

/** The waiting revision of a source. Throws if there is none; the message says what else there is to decide. */
export function expectWaiting(
  { source, waiting, pending }: Pick<Situation, 'source' | 'waiting' | 'pending'>,
  hold: SourceHold | undefined,
  verb: 'approve' | 'reject',
): Revision {
  if (hold !== undefined) {
    const at = hold.commit === undefined ? '' : ` at ${hold.commit}`
    throw nothing(`"${source}" is held${at}, whatever waits; skillsyncd release ${source} lets it move`)
  }
  if (waiting === undefined && pending > 0 && verb === 'approve') {
    const some = pending === 1 ? '1 of its skills waits' : `${pending} of its skills wait`
    throw nothing(`No revision of "${source}" waits for a decision, but ${some}: skillsyncd approve ${source}/`)
  }
  if (waiting === undefined)
    throw nothing(`Nothing of "${source}" waits for a decision; skillsyncd status shows what does`)
  return waiting
}

/** True if the last upstream revision waits for an operator, or was rejected by one. */
export function isWaiting(code: SyncErrorCode | undefined): boolean {
  return code !== undefined && (isAwaitingDecision(code) || code === 'rejected' || code === 'rolled-back')
}

function omit(decision: SourceDecision, part: keyof SourceDecision): SourceDecision {
  return Object.fromEntries(Object.entries(decision).filter(([key]) => key !== part))
}

function nothing(message: string): OperatorError {
  return new OperatorError('nothing-to-decide', message)
}

function notHeld(source: string, { ringHolds = {} }: SourceDecision): string {
  const [ring] = Object.keys(ringHolds)
  return ring === undefined
    ? `"${source}" follows its ref: it is neither held nor rolled back`
    : `"${source}" is held in a ring alone: skillsyncd release ${source} --ring ${ring}`
}
