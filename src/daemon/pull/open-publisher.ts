import type { SourceId } from '../../sync/model/source-id.ts'
import type { Admission, LostSource } from '../../sync/pull/load-generation.ts'
import { Publisher } from '../../sync/pull/publisher.ts'
import { isCorruption } from '../../sync/store/objects/database.ts'
import type { DaemonContext } from '../runtime/context.ts'

/** Opens the publisher. A database that turns out to be damaged costs what it had, and not the start. */
export async function openPublisher(
  { store, clock, log, readOnly }: DaemonContext,
  ids: readonly SourceId[],
  admission: Admission,
  lostBefore: readonly LostSource[],
): ReturnType<typeof Publisher.open> {
  const open = async (): ReturnType<typeof Publisher.open> =>
    Publisher.open(store, ids, admission, { lostBefore, clock })
  try {
    return await open()
  } catch (error) {
    if (!isCorruption(error) || readOnly?.() !== undefined) throw error
    const why = await store.mendDatabase(clock.now())
    if (why !== undefined) log.error('store-replaced', { code: why.code, message: why.message })
    return open()
  }
}
