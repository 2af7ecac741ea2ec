import type { RingStep, RingTrail } from '../../model/generation.ts'

/** The content that enters the first ring. */
export type EnteringStep = Pick<RingStep, 'snapshot' | 'commit' | 'content'>

/** The state of one source in the rings before its next content. */
export interface SourceInRings {
  /** The content of the first ring, with the time of its generation; `undefined` if there is none. */
  readonly held: (EnteringStep & { readonly at: string }) | undefined
  /** `undefined` if all rings serve the content of the first. */
  readonly trail: RingTrail | undefined
}

/** The index of the step that the ring serves; -1 if it serves nothing of the source. */
export function positionIn({ steps }: RingTrail, ring: string): number {
  return steps.findLastIndex(({ since }) => since[ring] !== undefined)
}

/**
 * Returns the trail after new content entered the first ring; `undefined` if all rings serve that. A commit that changes
 * no skill, and a new survey of the same commit, is in each ring that has its predecessor at once. Content that was there
 * before takes back what came after it.
 */
export function trailAfterUpdate(
  source: RingTrail['source'],
  { held, trail }: SourceInRings,
  next: EnteringStep & { readonly at: string },
  order: readonly string[],
): RingTrail | undefined {
  const [first = ''] = order
  const steps = trail?.steps ?? (held === undefined ? [] : [stepOfAll(held, order)])
  const { at, ...entering } = next
  const last = steps.at(-1)
  if (last !== undefined && isSame(last, next)) {
    const renewed = steps.map((step) => (isSame(step, last) ? { ...step, ...entering } : step))
    return pruned({ source, steps: renewed }, order)
  }
  const back = steps.findLastIndex((step) => isSame(step, next))
  const kept = back === -1 ? steps : steps.map((step, index) => (index > back ? revertedStep(step) : step))
  return pruned({ source, steps: [...kept, { ...entering, since: { [first]: at } }] }, order)
}

/**
 * Returns the trail after the operator took the source back to earlier content: no ring serves a later step any more, and
 * a ring that serves an earlier one stays there. Content that no ring may still take is that of all rings.
 */
export function trailAfterRollback(
  trail: RingTrail | undefined,
  next: EnteringStep & { readonly at: string },
  order: readonly string[],
): RingTrail | undefined {
  const back = trail?.steps.findLastIndex((held) => isSame(held, next)) ?? -1
  const step = trail?.steps[back]
  if (trail === undefined || step === undefined) return undefined
  const { reverted: _ended, ...rest } = step
  const later = order.filter((ring) => positionIn(trail, ring) > back)
  const since = { ...rest.since, ...Object.fromEntries(later.map((ring) => [ring, next.at])) }
  const { at: _at, ...taken } = next
  return pruned({ ...trail, steps: [...trail.steps.slice(0, back), { ...rest, ...taken, since }] }, order)
}

/** Returns the trail after a ring took a step; `undefined` if all rings serve that. */
export function trailAfterPromotion(
  trail: RingTrail,
  { ring, index, at }: { readonly ring: string; readonly index: number; readonly at: string },
  order: readonly string[],
): RingTrail | undefined {
  const steps = trail.steps.map((step, each) =>
    each === index ? { ...step, since: { ...step.since, [ring]: at } } : step,
  )
  return pruned({ ...trail, steps }, order)
}

/**
 * Returns the trail for the rings of another configuration. The first ring serves the last step. A ring that is new
 * serves what the next older ring serves, and without one what the next newer one does.
 */
export function trailForRings(
  trail: RingTrail,
  before: readonly string[],
  order: readonly string[],
  at: string,
): RingTrail | undefined {
  const [first = ''] = order
  const last = trail.steps.length - 1
  const places = new Map(order.map((ring) => [ring, positionIn(trail, neighbourOf(ring, before, order))]))
  places.set(first, last)
  const steps = trail.steps.map((step, index) => {
    const known = Object.entries(step.since).filter(([ring]) => order.includes(ring) && before.includes(ring))
    const here = order.filter((ring) => places.get(ring) === index && step.since[ring] === undefined)
    return { ...step, since: Object.fromEntries([...known, ...here.map((ring) => [ring, at] as const)]) }
  })
  return pruned({ ...trail, steps }, order)
}

/** The ring whose place a ring has: itself if it was there before. */
function neighbourOf(ring: string, before: readonly string[], order: readonly string[]): string {
  const at = order.indexOf(ring)
  const candidates = [...order.slice(at), ...order.slice(0, at).toReversed()]
  return candidates.find((id) => before.includes(id)) ?? ring
}

/** True for steps of one version. */
function isSame(one: EnteringStep, other: EnteringStep): boolean {
  return one.commit === other.commit || one.content === other.content
}

function revertedStep(step: RingStep): RingStep {
  return { ...step, reverted: true }
}

function stepOfAll({ at, ...held }: EnteringStep & { readonly at: string }, order: readonly string[]): RingStep {
  return { ...held, since: Object.fromEntries(order.map((ring) => [ring, at])) }
}

/** Drops the steps that no ring serves or may take. `undefined` if all rings serve the last one. */
function pruned(trail: RingTrail, order: readonly string[]): RingTrail | undefined {
  const places = order.map((ring) => positionIn(trail, ring))
  const newest = trail.steps.at(-1)
  const isNewest = (step: RingStep | undefined): boolean => step?.snapshot === newest?.snapshot
  if (places.every((place) => isNewest(trail.steps[place]))) return undefined
  const isOpen = ({ since, reverted }: RingStep, index: number): boolean =>
    reverted !== true &&
    places.some((place, ring) => ring > 0 && index > place && since[order[ring - 1] ?? ''] !== undefined)
  const steps = trail.steps.filter((step, index) => places.includes(index) || isOpen(step, index))
  return thinned({ ...trail, steps }, order)
}

/** The most steps of a source: a repository with a commit each minute must not fill a generation. */
export const MOST_STEPS = 32

/**
 * Drops the steps that are closest in time to their neighbors. The first one that a ring may take stays, so each ring
 * takes something when its time has come, however many commits there are.
 */
function thinned(trail: RingTrail, order: readonly string[]): RingTrail {
  let { steps } = trail
  while (steps.length > MOST_STEPS) {
    const places = new Set(order.map((ring) => positionIn({ ...trail, steps }, ring)))
    const gapAt = (index: number): number => entryMs(steps[index + 1]) - entryMs(steps[index - 1])
    const spare = steps.map((_, index) => index).filter((index) => index > 0 && index < steps.length - 1)
    const free = spare.filter((index) => !places.has(index) && !places.has(index - 1))
    const [least] = free.toSorted((one, other) => gapAt(one) - gapAt(other) || one - other)
    if (least === undefined) break
    steps = steps.toSpliced(least, 1)
  }
  return { ...trail, steps }
}

/** The time at which the step entered the first ring of then. */
function entryMs(step: RingStep | undefined): number {
  return Math.min(...Object.values(step?.since ?? {}).map((time) => Date.parse(time)))
}
