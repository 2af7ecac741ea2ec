import type { Decisions, Hold } from '../../sync/model/decisions/decisions.ts'
import type { RingStep, RingTrail } from '../../sync/model/generation.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { eligibleSteps, nextEligibleAt } from '../../sync/pull/rings/promotion.ts'
import { stepIn } from '../../sync/pull/rings/ring-contents.ts'
import type { RingContents } from '../../sync/pull/rings/ring-contents.ts'
import { positionIn } from '../../sync/pull/rings/ring-trail.ts'
import type { RingConfig } from './ring-config.ts'

/** One ring, with the sources of which it serves another commit than the first ring. */
export interface RingStatus {
  readonly id: string
  /** The time for which the ring before serves a commit until this one takes it. */
  readonly minAgeMs: number
  /**
   * The rise of the share of failed uses, from 0 to 1, above which the ring does not take the new content of a skill.
   * `undefined` for the first ring, which takes each commit.
   */
  readonly mostFailures: number | undefined
  /** The share of the principals that no ring names, from 0 to 1; that of the last ring is what the others leave. */
  readonly share: number
  readonly sources: readonly RingSourceStatus[]
}

/** The content of one source in a ring. */
export interface RingSourceStatus {
  readonly source: SourceId
  /**
   * The commit that the ring serves, and the time from which it does. Absent if the ring serves nothing of the source yet,
   * or, beside a hold, what the first ring serves.
   */
  readonly commit?: string
  readonly since?: string
  /** The newest commit that the ring before serves, and that this ring may take; absent if there is none. */
  readonly next?: string
  /** The time at which the ring may take the next commit; absent if that is now, or if there is none. */
  readonly nextAt?: string
  /** The reason why the ring takes nothing now. */
  readonly stopped?: Pick<RingStop, 'code' | 'message'>
  /** The hold of the operator: its time. */
  readonly heldAt?: string
}

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
        return [{ source, stopped: ringHoldStop(hold), heldAt: hold.at }]
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
    ...(stop !== undefined && { stopped: { code: stop.code, message: stop.message } }),
    ...(hold !== undefined && { heldAt: hold.at }),
  }
}
