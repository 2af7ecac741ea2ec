import { systemClock } from '../../../base/async/clock.ts'
import { countOf } from '../../../base/text/plural.ts'
import { withLifecycles } from '../../../sync/catalog/operator-lifecycle.ts'
import { lackingDependencies, lackingText } from '../../../sync/catalog/pack-dependencies.ts'
import type { LackingDependency } from '../../../sync/catalog/pack-dependencies.ts'
import { canHold, lockedPackOf } from '../../../sync/catalog/pack.ts'
import type { Pack } from '../../../sync/catalog/pack.ts'
import { isLocked } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockedPack } from '../../../sync/model/decisions/lock.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { changeLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import type { Config } from '../../config/config.ts'
import { lifecyclesIn } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'

/**
 * The result for one pack in the lock. `why`: its content cannot be determined, and the entry in the lock does not fit.
 */
export interface PackEnd {
  readonly id: string
  readonly skills?: number
  /** Dependencies of its skills that it lacks. */
  readonly lacks?: readonly LackingDependency[]
  readonly why?: string
}

/**
 * Writes the packs' skills of the locked sources into the lock. They follow from the lock and the configuration, so
 * they are rewritten with either. `looked`: snapshots that may be locked although they are not served yet.
 */
export async function lockPacks(
  config: Config,
  file: string,
  looked: readonly Snapshot[],
  signal: AbortSignal,
): Promise<{ readonly isWritten: boolean; readonly ends: readonly PackEnd[] }> {
  const lifecycles = lifecyclesIn(config)
  const found = [...looked, ...(await servedSnapshots(config))]
  const known = found.map((snapshot) => withLifecycles(snapshot, lifecycles))
  let ends: readonly PackEnd[] = []
  const change = (whole: Lock): Lock => {
    // An entry can remain after its source was removed from the configuration.
    const configured = [...whole.sources].filter(([id]) => config.sources.some(({ source }) => source.id === id))
    const lock = { ...whole, sources: new Map(configured) }
    const snapshots = lockedSnapshots(lock, config, known)
    const packs = config.packs.map((pack) => lockedOrBefore(pack, lock, snapshots))
    ends = packs.map(({ end }) => end)
    return { ...whole, packs: new Map(packs.flatMap(({ end, locked }) => (locked ? [[end.id, locked]] : []))) }
  }
  return { isWritten: await changeLock(file, change, () => systemClock.now().getTime(), signal), ends }
}

export function linesOfPack({ id, skills = 0, why, lacks = [] }: PackEnd): string[] {
  if (why !== undefined) return [`pack ${id}: not locked: ${why}`]
  return [`pack ${id}: ${countOf(skills, 'skill')}`, ...lacks.map((one) => `  ${printableLine(lackingText(one))}`)]
}

async function servedSnapshots({ state }: Config): Promise<readonly Snapshot[]> {
  using store = await Store.openExisting(state)
  if (store === undefined) return []
  const held = (await store.generations.current())?.sources ?? []
  return await Promise.all(held.map(({ snapshot }) => store.snapshots.read(snapshot)))
}

/** The locked snapshot of each source, if it is available. */
function lockedSnapshots(lock: Lock, { sources }: Config, known: readonly Snapshot[]): readonly Snapshot[] {
  return sources.flatMap(({ source: { id } }) => {
    const entry = lock.sources.get(id)
    return (entry && known.find((one) => one.source === id && isLocked(entry, one))) ?? []
  })
}

interface Locked {
  readonly end: PackEnd
  readonly locked: LockedPack | undefined
}

function lockedOrBefore(pack: Pack, lock: Lock, snapshots: readonly Snapshot[]): Locked {
  const { id } = pack
  const before = lock.packs.get(id)
  const locked = lockedPackOf(pack, lock, snapshots, before)
  if (locked !== undefined) {
    const lacks = lackingDependencies(pack, snapshots)
    return { end: { id, skills: locked.skills.length, ...(lacks.length > 0 && { lacks }) }, locked }
  }
  const absent = [...lock.sources.keys()].filter(
    (source) => canHold(pack, source) && !snapshots.some((one) => one.source === source),
  )
  const named = absent.map((source) => `"${source}"`).join(', ')
  return { end: { id, why: `the locked commit of ${named} is not here; try skillsyncd update` }, locked: before }
}
