import type { RingSourceStatus, RingStatus } from '../../daemon/status/status.ts'
import type { Decisions, Hold } from '../../sync/model/decisions/decisions.ts'
import type { RingStep, RingTrail } from '../../sync/model/generation.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { eligibleSteps, nextEligibleAt } from '../../sync/pull/rings/promotion.ts'
import { stepIn } from '../../sync/pull/rings/ring-contents.ts'
import type { RingContents } from '../../sync/pull/rings/ring-contents.ts'
import { positionIn } from '../../sync/pull/rings/ring-trail.ts'
import type { RingConfig } from './ring-config.ts'

/** The reason why a ring must not take a commit of a source. */
export interface RingStop {
  readonly source: SourceId
  readonly ring: string
  readonly code: string
  readonly message: string
}

/** The rings, and what is known of their content. */
export interface RingSituation {
  readonly rings: readonly RingConfig[]
  readonly contents: RingContents
  readonly decisions: Decisions
  readonly now: Date
  /** Returns what stopped the last promotion. */
  readonly stopOf: (source: SourceId, ring: string) => RingStop | undefined
}

/** The rings in their order. A source of which a ring serves what the first ring serves is not listed, unless it is held. */
export function ringStatuses(situation: RingSituation): readonly RingStatus[] {
  const { rings, contents, decisions } = situation
  const trails = [...contents.trails.values()].toSorted((a, b) => (a.source < b.source ? -1 : 1))
  const rest = Math.max(0, 1 - rings.slice(0, -1).reduce((sum, { share }) => sum + share, 0))
  return rings.map(({ id, minAgeMs, mostFailures, share }, at) => ({
    id,
    minAgeMs,
    mostFailures: at === 0 ? undefined : mostFailures,
    share: at === rings.length - 1 ? Math.round(rest * 10_000) / 10_000 : share,
    sources: [
      ...trails
        .filter((trail) => positionIn(trail, id) < trail.steps.length - 1)
        .map((trail) => sourceStatusOf(trail, at, situation)),
      ...[...decisions].flatMap(([source, { ringHolds }]) => {
        const hold = ringHolds?.[id]
        const trail = contents.trails.get(source)
        const isListed = trail !== undefined && positionIn(trail, id) < trail.steps.length - 1
        if (hold === undefined || isListed) return []
        return [{ source, problem: ringHoldStop(hold), heldAt: hold.at }]
      }),
    ],
  }))
}

/** The reason why a held ring takes nothing. */
export function ringHoldStop({ reason }: Hold): Pick<RingStop, 'code' | 'message'> {
  return { code: 'held', message: reason ?? 'a person ran skillsyncd hold' }
}

function sourceStatusOf(
  trail: RingTrail,
  at: number,
  { rings, decisions, now, stopOf }: RingSituation,
): RingSourceStatus {
  const ring = rings[at]?.id ?? ''
  const { source } = trail
  const step: RingStep | undefined = stepIn(trail, ring)
  const hold = decisions.get(source)?.ringHolds?.[ring]
  const known = stopOf(source, ring)
  const stop = hold === undefined ? known : ringHoldStop(hold)
  const [newest] = eligibleSteps(trail, rings, at, now, true)
  const nextAt = nextEligibleAt(trail, rings, at, now)
  return {
    source,
    ...(step !== undefined && { commit: step.commit, since: step.since[ring] ?? '' }),
    ...(newest !== undefined && { next: newest.step.commit }),
    ...(nextAt !== undefined && { nextAt: nextAt.toISOString() }),
    ...(stop !== undefined && { problem: { code: stop.code, message: stop.message } }),
    ...(hold !== undefined && { heldAt: hold.at }),
  }
}
