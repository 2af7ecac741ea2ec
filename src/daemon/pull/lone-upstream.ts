import { systemClock } from '../../base/async/clock.ts'
import type { DirectorySource, GitSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { openTreeUpstream } from '../../sync/pull/open-upstream.ts'
import { temporaryWorkspace } from '../../sync/store/objects/temporary-blobs.ts'
import type { TreeUpstream } from '../../sync/upstream/upstream.ts'
import { Keyring } from '../access/keyring.ts'
import { sshAccessOf } from '../config/auth.ts'
import { ownFolders } from '../config/config.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { cleanError } from './pull-context.ts'

/** A source that has trees. */
export type SourceWithTrees = ConfiguredSource & { readonly source: GitSource | DirectorySource }

export function hasTrees(configured: ConfiguredSource): configured is SourceWithTrees {
  return configured.source.kind === 'git' || configured.source.kind === 'directory'
}

/** Opens a source as a pull does, with its credential and its route, in a process without a state folder. */
export async function withLoneUpstream<Result>(
  configured: SourceWithTrees,
  config: Config,
  { environment, redactor }: Pick<DaemonContext, 'environment' | 'redactor'>,
  work: (upstream: TreeUpstream) => Promise<Result>,
): Promise<Result> {
  const { limits, programs } = config
  const fetchMs = limits.fetch.totalMs
  const keyring = new Keyring({ environment, redactor, clock: systemClock, names: undefined, fetchMs })
  await using workspace = await temporaryWorkspace()
  try {
    const upstream = openTreeUpstream(configured.source, {
      scratch: workspace.scratch,
      blobs: workspace.blobs,
      limits: limits.fetch,
      way: keyring.wayTo(configured),
      programs: {
        ...programs,
        path: environment.path,
        access: sshAccessOf(configured.access, environment, redactor),
      },
      apart: ownFolders(config, environment),
    })
    return await work(upstream)
  } catch (error) {
    throw error instanceof SyncError ? cleanError(error, redactor) : error
  }
}
