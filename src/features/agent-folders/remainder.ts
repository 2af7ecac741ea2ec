import { idsOf } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import { isDecidedAt } from '../../sync/model/decisions/out-of-service.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'
import type { Store } from '../../sync/store/store.ts'
import type { LinkedSkill } from './link-record.ts'

/**
 * The part of an entry that stays in a folder when its skill is no longer served. `name`: the content goes, and the
 * name stays reserved for the source.
 */
export type LeftoverLinks = 'content' | 'name' | 'nothing'

/** The facts that decide about the remainder of an entry. */
export interface RemainderGround {
  readonly config: Config
  readonly store: Pick<Store, 'decisions'>
  readonly lost: readonly LostSource[]
}

/**
 * The remainder in a folder of the configuration, in which no command was given: no skill may get the name of another
 * source's skill, and content whose source is merely lost from our disk stays until it is fetched again.
 */
export function remainderOf({ source, path }: LinkedSkill, { config, store, lost }: RemainderGround): LeftoverLinks {
  const isDisabled = store.decisions.outOfService.some(
    (rule) => rule.ended === undefined && isDecidedAt(rule, source, path),
  )
  if (isLost(source, lost) && !isDisabled) return 'content'
  return idsOf(config).includes(source) ? 'name' : 'nothing'
}

function isLost(source: SourceId, lost: readonly LostSource[]): boolean {
  return lost.some((loss) => loss.source === source && loss.instead === undefined)
}
