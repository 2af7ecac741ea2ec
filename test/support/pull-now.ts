import { idsOf } from '../../src/daemon/config/config.ts'
import type { Daemon } from '../../src/daemon/daemon.ts'
import type { Outcome } from '../../src/sync/model/outcome.ts'
import type { SourceId } from '../../src/sync/model/source-id.ts'

/** Pulls these sources now, or all. Resolves with the outcome of each when the folders of agents have it. */
export async function pullNow(
  { parts }: Pick<Daemon, 'parts'>,
  ids: readonly SourceId[] = idsOf(parts.config),
): Promise<ReadonlyMap<SourceId, Outcome>> {
  const { folders, linked, puller } = parts
  const outcomes = new Map(await Promise.all(ids.map(async (id) => [id, await puller.request(id, 'command')] as const)))
  folders.follow()
  await linked()
  return outcomes
}
