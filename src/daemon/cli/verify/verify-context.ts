import type { Generation } from '../../../sync/model/generation.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { Store } from '../../../sync/store/store.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import type { VerifyDiagnostic } from './verify-diagnostic.ts'

/** One check of the state folder. */
export type StoreCheck = (verifying: Verifying) => AsyncIterable<VerifyDiagnostic>

/** The input of the checks. */
export interface Verifying {
  readonly config: Config
  /** `undefined` if the state folder has not been written yet. */
  readonly store: Store | undefined
  readonly served: Generation | undefined
  /** The served snapshot of each configured source; unreadable ones are left out. */
  readonly snapshots: readonly Snapshot[]
  /** The named sources, or all: the long checks skip others. */
  readonly named: ReadonlySet<string>
  /** The skill versions that were already checked, by the paths of their checkouts. */
  readonly looked: Set<string>
  /** The digests of the objects that were already checked. */
  readonly checked: Set<string>
  /** Shows the progress. */
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
  return { config, store, served, snapshots, named, looked: new Set(), checked: new Set(), show, signal }
}
