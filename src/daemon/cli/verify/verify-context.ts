import type { Generation } from '../../../sync/model/generation.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { Store } from '../../../sync/store/store.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import type { Remark } from './finding.ts'

/** One question about the state folder. */
export type Check = (verifying: Verifying) => AsyncIterable<Remark>

/** What the checks look at. */
export interface Verifying {
  readonly config: Config
  /** Undefined where nobody has written the state folder yet. */
  readonly store: Store | undefined
  readonly served: Generation | undefined
  /** What is served of each configured source; those that cannot be read are left out. */
  readonly snapshots: readonly Snapshot[]
  /** The sources that were named, or all: others are not looked at for long. */
  readonly named: ReadonlySet<string>
  /** Skill versions that were looked at already, by their place in the store. */
  readonly looked: Set<string>
  /** Tells how far it has got. */
  readonly show: (text: string) => void
  readonly signal: AbortSignal
}

export async function verifyingOf(
  config: Config,
  store: Store | undefined,
  { named, show }: Pick<Verifying, 'named' | 'show'>,
  signal: AbortSignal,
): Promise<Verifying> {
  const served = await store?.generations.current()
  const snapshots: Snapshot[] = []
  const configured = new Set<string>(idsOf(config))
  for (const { source, snapshot } of served?.sources ?? []) {
    const read = configured.has(source) ? await store?.snapshots.readWhole(snapshot) : undefined
    if (read !== undefined) snapshots.push(read)
  }
  return { config, store, served, snapshots, named, looked: new Set(), show, signal }
}
