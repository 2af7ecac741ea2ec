import { isLocked } from '../sync/model/lock.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import type { Admission } from '../sync/publisher.ts'
import { proofOf } from '../sync/take.ts'
import type { Config } from './config.ts'
import { lockedEntry, NotLocked } from './lock-rules.ts'
import { proverOf } from './proving.ts'

/** What may be served of a stored state under this configuration: what lock and signatures let through, as they are now. */
export function admissionOf(config: Config): Admission {
  const reviewed = config.sources.filter(({ source }) => source.kind === 'mcp' && source.approval === 'required')
  return {
    admits: async (snapshot) => (await refusalOf(config, snapshot)) === undefined,
    reviewed: new Set(reviewed.map(({ source }) => source.id)),
  }
}

/** Why a stored snapshot may not be served; undefined where it may. A lock or a list that cannot be read lets nothing through. */
export async function refusalOf(config: Config, snapshot: Snapshot): Promise<SyncError | undefined> {
  const configured = config.sources.find(({ source }) => source.id === snapshot.source)
  if (configured === undefined) return new NotLocked(`Cannot serve "${snapshot.source}": it is not configured`)
  try {
    const entry = await lockedEntry(config, configured.source)
    if (entry !== undefined && !isLocked(entry, snapshot)) {
      const at = `${snapshot.revision.commit} of "${snapshot.source}"`
      return new NotLocked(`Cannot serve ${at}: it is not what the lock has`)
    }
    await proverOf(configured)?.(proofOf(snapshot), snapshot.revision)
    return undefined
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}
