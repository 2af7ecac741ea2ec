import { identityOf, isAbout, type SourceDecision } from '../../sync/model/decisions/decisions.ts'
import { isObjectId, type ObjectId, type Revision } from '../../sync/model/revision.ts'
import { isAwaitingDecision, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import { revisionText } from '../../sync/pull/move-policy.ts'
import { OperatorError } from '../runtime/operator-error.ts'

/** The decisions that an operator can make about a source. */
export const VERBS = ['pause', 'resume', 'pin', 'approve', 'reject'] as const
export type Verb = (typeof VERBS)[number]

/** The details of a decision of an operator. */
export interface DecisionDetails {
  /** The full id for `approve` and `reject`; its first digits are enough for `pin`. */
  readonly commit?: string | undefined
  /** The tag object, if the ref is an annotated tag. */
  readonly tag?: string | undefined
  /** True if `resume` leaves a pin as it is, because the source is not named. */
  readonly keepsPin?: boolean | undefined
}

/** The facts that a decision depends on. */
export interface Situation extends DecisionDetails {
  readonly source: string
  readonly served: Revision | undefined
  /** The last known upstream revision, if it is not served. */
  readonly waiting: Revision | undefined
  /** The number of its skills that wait for their own approval. */
  readonly pending: number
}

/** A revision that waits for a decision, and the reason. */
export interface HeldRevision {
  readonly revision: Revision
  readonly code: SyncErrorCode
  readonly message: string
}

/**
 * Applies the verb to the decision about a source. Throws if there is nothing to decide; the message says what there
 * is.
 */
export function decisionAfter(verb: Verb, before: SourceDecision, situation: Situation): SourceDecision {
  const { paused, frozen, skipped, approved } = before
  switch (verb) {
    case 'pause':
      return { ...before, paused: true }
    case 'resume': {
      const pin = situation.keepsPin === true && frozen?.by === 'pin' ? frozen : undefined
      const isBound = paused !== undefined || frozen !== pin || skipped?.by === 'rollback'
      if (!isBound) throw nothing(notBound(situation.source, pin))
      return {
        ...(pin !== undefined && { frozen: pin }),
        ...(skipped?.by === 'reject' && { skipped }),
        ...(approved !== undefined && { approved }),
      }
    }
    case 'pin':
      return { ...before, frozen: { commit: commitToPin(situation), by: 'pin' } }
    case 'approve': {
      const candidate = candidateOf(situation, frozen, 'approve')
      const rest = isAbout(skipped, candidate) ? omit(before, 'skipped') : before
      return { ...rest, approved: identityOf(candidate) }
    }
    case 'reject': {
      const candidate = candidateOf(situation, frozen, 'reject')
      return { ...omit(before, 'approved'), skipped: { ...identityOf(candidate), by: 'reject' } }
    }
    default:
      return verb satisfies never
  }
}

/**
 * The decision about a source after a rollback. With `hold` the source stays there; otherwise the revision it left is
 * skipped. A pin moves along: it would take the source back at the next pull.
 */
export function decisionAfterRollback(
  before: SourceDecision,
  from: Revision | undefined,
  to: Revision,
  hold: boolean,
): SourceDecision {
  const { frozen: _frozen, skipped: _skipped, approved: _approved, ...rest } = before
  if (hold) return { ...rest, frozen: { commit: to.commit, by: 'rollback' } }
  if (before.frozen?.by === 'pin') return { ...rest, frozen: { commit: to.commit, by: 'pin' } }
  const isLeft = from !== undefined && !isAbout(identityOf(from), to)
  return { ...rest, ...(isLeft && { skipped: { ...identityOf(from), by: 'rollback' } }) }
}

function commitToPin({ source, served, waiting, commit }: Situation): ObjectId {
  if (commit !== undefined && isObjectId(commit)) return commit
  if (commit === undefined && served !== undefined) return served.commit
  if (commit === undefined)
    throw nothing(`Nothing of "${source}" is served that it could be pinned at; name a full commit id`)
  if (waiting?.commit.startsWith(commit) === true) return waiting.commit
  throw nothing(`The store has no commit of "${source}" that begins with "${commit}"; a full id is fetched`)
}

/**
 * The waiting revision, which must be exactly the one that the operator named: another may have arrived since it was
 * shown.
 */
function candidateOf(situation: Situation, frozen: SourceDecision['frozen'], verb: 'approve' | 'reject'): Revision {
  const { source, commit, tag } = situation
  const waiting = expectWaiting(situation, frozen, verb)
  if (commit === waiting.commit && tag === waiting.tag) return waiting
  const named = commit === undefined ? 'what is not named' : revisionText({ commit, tag })
  throw nothing(
    `Cannot ${verb} ${named}: what waits of "${source}" is ${revisionText(waiting)}; skillsyncd approve ${source} shows it`,
  )
}

/** The waiting revision of a source. Throws if there is none; the message says what else there is to decide. */
export function expectWaiting(
  { source, waiting, pending }: Pick<Situation, 'source' | 'waiting' | 'pending'>,
  frozen: SourceDecision['frozen'],
  verb: 'approve' | 'reject',
): Revision {
  if (frozen !== undefined) {
    throw nothing(`"${source}" stays at ${frozen.commit}, whatever waits; skillsyncd resume ${source} lets it move`)
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

function notBound(source: string, pin: SourceDecision['frozen']): string {
  return pin === undefined
    ? `"${source}" follows its ref: it is not paused, pinned or rolled back`
    : `"${source}" is pinned; skillsyncd resume ${source} ends the pin`
}

function omit(decision: SourceDecision, part: keyof SourceDecision): SourceDecision {
  return Object.fromEntries(Object.entries(decision).filter(([key]) => key !== part))
}

function nothing(message: string): OperatorError {
  return new OperatorError('nothing-to-decide', message)
}
