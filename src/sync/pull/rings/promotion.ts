import type { RingStep, RingTrail } from '../../model/generation.ts'
import { positionIn, trailAfterPromotion } from './ring-trail.ts'

/** A ring, as promotion sees it. */
export interface RingRule {
  readonly id: string
  /** The time for which the ring before must have served content before this one takes it. */
  readonly minAgeMs: number
}

/** A step that a ring may take, if nothing stops it. */
export interface Eligible {
  readonly index: number
  readonly step: RingStep
}

/** A ring that takes a step, with the step that it served before; -1 for nothing. */
export interface RingMove {
  readonly ring: string
  readonly index: number
  readonly from: number
}

/**
 * The steps that the ring at `at` of the rules may take now, newest first: those after its own that the ring before it
 * has served for its minimum age. Newer ones do not change the age of a step, so a source with many commits is promoted
 * too. `isAged`: true to leave the age out.
 */
export function eligibleSteps(
  trail: RingTrail,
  rules: readonly RingRule[],
  at: number,
  now: Date,
  isAged = false,
): readonly Eligible[] {
  const [before, rule] = [rules[at - 1], rules[at]]
  if (before === undefined || rule === undefined) return []
  const place = positionIn(trail, rule.id)
  return trail.steps
    .map((step, index) => ({ index, step }))
    .filter(({ index, step }) => {
      const since = step.since[before.id]
      if (index <= place || since === undefined || step.reverted === true) return false
      return isAged || now.getTime() - Date.parse(since) >= rule.minAgeMs
    })
    .toReversed()
}

/**
 * The time at which the next step of the source becomes eligible for the ring at `at`; `undefined` if none waits for its
 * age.
 */
export function nextEligibleAt(trail: RingTrail, rules: readonly RingRule[], at: number, now: Date): Date | undefined {
  const [before, rule] = [rules[at - 1], rules[at]]
  if (before === undefined || rule === undefined) return undefined
  const times = eligibleSteps(trail, rules, at, now, true)
    .map(({ step }) => Date.parse(step.since[before.id] ?? '') + rule.minAgeMs)
    .filter((time) => time > now.getTime())
  return times.length === 0 ? undefined : new Date(Math.min(...times))
}

/** The trail of one source after all rings took what they may, in their order; and the moves. */
export interface Promoted {
  /** `undefined` if all rings serve the content of the first. */
  readonly trail: RingTrail | undefined
  readonly moves: readonly (RingMove & { readonly step: RingStep })[]
}

/**
 * Promotes one source: each ring takes the newest eligible step that nothing stops. It depends on nothing but its
 * arguments. `isStopped` is called for the steps of each ring until one may be taken.
 */
export async function promoted(
  trail: RingTrail,
  rules: readonly RingRule[],
  now: Date,
  { isStopped, isAged }: PromotionChoice,
): Promise<Promoted> {
  const order = rules.map(({ id }) => id)
  const moves: (RingMove & { readonly step: RingStep })[] = []
  let present: RingTrail | undefined = trail
  for (const [at, { id: ring }] of rules.entries()) {
    if (present === undefined) break
    const from = positionIn(present, ring)
    for (const { index, step } of eligibleSteps(present, rules, at, now, isAged(ring))) {
      if (await isStopped({ ring, step, from: present.steps[from] })) continue
      moves.push({ ring, index, from, step })
      present = trailAfterPromotion(present, { ring, index, at: now.toISOString() }, order)
      break
    }
  }
  return { trail: present, moves }
}

/** A step that a ring would take, and the step that it serves. */
export interface PromotionStep {
  readonly ring: string
  readonly step: RingStep
  readonly from: RingStep | undefined
}

/** The choices of one promotion. */
export interface PromotionChoice {
  readonly isStopped: (promotion: PromotionStep) => boolean | Promise<boolean>
  /** True for a ring whose minimum age does not count now. */
  readonly isAged: (ring: string) => boolean
}
