import type { z } from 'zod'
import { snapshotWith } from '../../sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../sync/model/decisions/out-of-service.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { disabledBy } from './decision-text.ts'
import type { DISABLED_PLACES, DisabledBy } from './decision-text.ts'

/** The effect of disabling or enabling a skill. */
export interface Disablement {
  /** True if the decision changed something. */
  readonly isNew: boolean
  /** The number of skills that went out of service or came back, and the first of them. */
  readonly count: number
  readonly places: z.infer<typeof DISABLED_PLACES>
  /** The match that keeps the skill out of service although it is enabled. */
  readonly still?: DisabledBy
}

/** An answer must fit into one line of the socket. */
const MOST_PLACES = 100

/** The match that keeps a skill out of service: itself, or another skill that the operator disabled. */
export function keptOut(
  snapshots: readonly Snapshot[],
  outOfService: OutOfService,
  at: { readonly source: SourceId; readonly path: string },
): DisabledBy | undefined {
  const snapshot = snapshotWith(snapshots, at)
  const match = snapshot && disabledIn(snapshot, outOfService).get(at.path)
  return match && disabledBy(match)
}

/** The skills that are out of service in only one of the two states. */
export function disablementIn(
  snapshots: readonly Snapshot[],
  before: OutOfService,
  after: OutOfService,
): Pick<Disablement, 'count' | 'places'> {
  const places = snapshots.flatMap((snapshot) => {
    const [was, is] = [disabledIn(snapshot, before), disabledIn(snapshot, after)]
    const moved = [...new Map([...was, ...is])].filter(([path]) => was.has(path) !== is.has(path))
    return moved.map(([path, match]) => Object.assign({ place: `${snapshot.source}/${path}` }, disabledBy(match)))
  })
  // Rings can have several versions at one place.
  const each = [...new Map(places.map((one) => [one.place, one])).values()]
  return { count: each.length, places: each.slice(0, MOST_PLACES) }
}
