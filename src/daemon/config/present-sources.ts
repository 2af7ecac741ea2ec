import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { readHubSources } from '../../sync/store/hub-sources.ts'
import type { HubSourceIds } from '../../sync/store/hub-sources.ts'
import { readLock } from '../../sync/store/lock-file.ts'
import type { Config } from './config.ts'

/**
 * The configuration with the sources of the hub that is followed, as its state folder has them, or else its lock. With
 * `--locked` only the lock decides.
 */
export async function withPresentSources<Whole extends Config>(config: Whole): Promise<Whole> {
  if (config.follow === undefined) return config
  const known = config.mode.locked ? undefined : await readHubSources(config.state)
  return withHubSources(config, known ?? { sources: await lockedIn(config), gone: [] })
}

/** The sources of the lock. A lock that cannot be read is reported where it is followed. */
async function lockedIn({ lock, lockUse }: Config): Promise<readonly SourceId[]> {
  if (lock === undefined || lockUse === 'ignore') return []
  try {
    return [...((await readLock(lock))?.sources.keys() ?? [])]
  } catch (error) {
    if (error instanceof SyncError) return []
    throw error
  }
}

/** The configuration with these sources of the hub that is followed. */
export function withHubSources<Whole extends Config>(config: Whole, { sources: ids, gone }: HubSourceIds): Whole {
  const { follow } = config
  if (follow?.source.kind !== 'channel') return config
  const { source, ...rest } = follow
  const sources = ids.map((id) => ({
    ...rest,
    source: { ...source, id, ...(gone.includes(id) && { isGone: true as const }) },
  }))
  return { ...config, sources }
}
