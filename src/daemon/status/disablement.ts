import { disabledIn } from '../../sync/decisions/disabled-matches.ts'
import type { DisabledSkills } from '../../sync/decisions/disabled-skills.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { disabledBy, type DisabledBy } from './status.ts'

/** What became of skills when one was disabled or enabled. */
export interface Disablement {
  /** It was not so before. */
  readonly isNew: boolean
  /** How many skills went out of service, or came back, and the first of them. */
  readonly count: number
  readonly places: readonly DisablementPlace[]
  /** What keeps it out of service although it is enabled. */
  readonly still?: DisabledBy
}

export interface DisablementPlace extends DisabledBy {
  /** `source/path`. */
  readonly place: string
}

/** An answer fits into a line of the socket. */
const MOST_PLACES = 100

/** What keeps a skill out of service: itself, or another that a person disabled. */
export function keptOut(
  snapshots: readonly Snapshot[],
  disabled: DisabledSkills,
  { source, path }: { readonly source: SourceId; readonly path: string },
): DisabledBy | undefined {
  const snapshot = snapshots.find((one) => one.source === source)
  const match = snapshot && disabledIn(snapshot, disabled).get(path)
  return match && disabledBy(match)
}

/** The skills that are out of service by one of the two and not by the other. */
export function disablementIn(
  snapshots: readonly Snapshot[],
  before: DisabledSkills,
  after: DisabledSkills,
): Pick<Disablement, 'count' | 'places'> {
  const places = snapshots.flatMap((snapshot) => {
    const [was, is] = [disabledIn(snapshot, before), disabledIn(snapshot, after)]
    const moved = [...new Map([...was, ...is])].filter(([path]) => was.has(path) !== is.has(path))
    return moved.map(([path, match]) => placeOf(`${snapshot.source}/${path}`, disabledBy(match)))
  })
  return { count: places.length, places: places.slice(0, MOST_PLACES) }
}

function placeOf(place: string, { as, by }: DisabledBy): DisablementPlace {
  return { place, as, by }
}
