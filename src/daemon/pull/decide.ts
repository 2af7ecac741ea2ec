import type { Decider } from '../../sync/model/decisions/decided.ts'
import {
  decisionOf,
  identityOf,
  isAbout,
  withoutCandidate,
  type Hold,
  type SourceHold,
} from '../../sync/model/decisions/decisions.ts'
import type { SourceRule, StayRule } from '../../sync/model/decisions/rules.ts'
import type { Revision } from '../../sync/model/revision.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
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
  /** A ring that is held or released, in place of the source. */
  readonly ring?: string | undefined
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
  readonly source: SourceId
  readonly decider: Decider
  readonly served: Revision | undefined
  /** The last known upstream revision, if it is not served. */
  readonly waiting: Revision | undefined
  /** True if its lock is lost, and it stays for that. */
  readonly isLockLost: boolean
  /** The number of its skills that wait for their own approval. */
  readonly pending: number
}

type SourceRules = readonly SourceRule[]

/** A revision that waits for a decision, and the reason. */
export interface CandidateRevision {
  readonly revision: Revision
  readonly code: SyncErrorCode
  readonly message: string
}

/**
 * Applies the verb to the rules about a source. Throws if there is nothing to decide; the message says what there
 * is.
 */
export function rulesAfter(verb: Verb, before: SourceRules, situation: Situation): SourceRules {
  const { source, decider, ring } = situation
  const { hold, skipped, ringHolds } = decisionOf(before)
  switch (verb) {
    case 'hold':
      return [...before.filter((rule) => !isHold(rule, ring)), holdOf(situation)]
    case 'release':
      if (ring !== undefined && ringHolds?.[ring] === undefined)
        throw nothing(`"${source}" is not held in the ring "${ring}"; skillsyncd status --rings shows all`)
      if (ring !== undefined) return before.filter((rule) => !isHold(rule, ring))
      if (hold === undefined && skipped?.by !== 'rollback' && !situation.isLockLost)
        throw nothing(notHeld(source, ringHolds))
      return before.filter((rule) => !isHold(rule) && !(rule.effect === 'skip' && rule.isLeft === true))
    case 'approve': {
      const candidate = candidateOf(situation, hold, 'approve')
      const isDone = (rule: SourceRule): boolean =>
        rule.effect === 'take' || (rule.effect === 'skip' && isAbout(rule.on, candidate))
      return [
        ...before.filter((rule) => !isDone(rule)),
        { ...decider, effect: 'take', on: { source, ...identityOf(candidate) } },
      ]
    }
    case 'reject': {
      const candidate = candidateOf(situation, hold, 'reject')
      return [...withoutCandidate(before), { ...decider, effect: 'skip', on: { source, ...identityOf(candidate) } }]
    }
    default:
      return verb satisfies never
  }
}

function isHold(rule: SourceRule, ring?: string): rule is StayRule {
  return rule.effect === 'stay' && rule.on.ring === ring
}

/**
 * The rules about a source after a rollback: the revision it left is skipped. A hold moves along: it would take the
 * source back at the next pull.
 */
export function rulesAfterRollback(
  before: SourceRules,
  { from, to }: { readonly from: Revision | undefined; readonly to: Revision },
  { source, decider }: Pick<Situation, 'source' | 'decider'>,
): SourceRules {
  const rest = withoutCandidate(before)
  if (rest.some((rule) => isHold(rule)))
    return rest.map((rule) => (isHold(rule) ? { ...rule, commit: to.commit } : rule))
  if (from === undefined || isAbout(from, to)) return rest
  return [...rest, { ...decider, effect: 'skip', on: { source, ...identityOf(from) }, isLeft: true }]
}

/** The rules about a source that stays at the commit that is served from now on. What concerned a candidate is done. */
export function rulesAfterHold(before: SourceRules, holding: HoldFacts): SourceRules {
  return withoutCandidate([...before.filter((rule) => !isHold(rule)), holdOf(holding)])
}

type HoldFacts = Pick<Situation, 'source' | 'decider' | 'hold' | 'ring' | 'served'>

function holdOf({ source, decider, hold: { reason, noPoll } = {}, ring, served }: HoldFacts): StayRule {
  if (ring !== undefined) return { ...decider, reason, effect: 'stay', on: { source, ring } }
  if (served === undefined && noPoll !== true)
    throw nothing(`Nothing of "${source}" is served that it could be held at; name a full commit id`)
  const stay = { ...decider, reason, effect: 'stay', on: { source }, commit: served?.commit } as const
  return noPoll === true ? { ...stay, noPoll } : stay
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

function nothing(message: string): OperatorError {
  return new OperatorError('nothing-to-decide', message)
}

function notHeld(source: string, ringHolds: Readonly<Record<string, Hold>> = {}): string {
  const [ring] = Object.keys(ringHolds)
  return ring === undefined
    ? `"${source}" follows its ref: it is neither held nor rolled back`
    : `"${source}" is held in a ring alone: skillsyncd release ${source} --ring ${ring}`
}
