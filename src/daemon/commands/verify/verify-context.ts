import type { Generation, GenerationEntry } from '../../../sync/model/generation.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { snapshotsInTrails } from '../../../sync/store/ring-states.ts'
import type { Store } from '../../../sync/store/store.ts'
import type { CheckResult } from '../../cli/check.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'

/** One check of the state folder. */
export type StoreCheck = (verifying: Verifying) => AsyncIterable<CheckResult>

/** The input of the checks. */
export interface Verifying {
  readonly config: Config
  /** `undefined` if the state folder has not been written yet. */
  readonly store: Store | undefined
  readonly served: Generation | undefined
  /** The served snapshot of each configured source; unreadable ones are left out. */
  readonly snapshots: readonly Snapshot[]
  /** The other snapshots of these sources that a ring serves, or may still take. */
  readonly snapshotsInRings: readonly Snapshot[]
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
  const configured = new Set<string>(idsOf(config))
  const readAll = async (all: readonly GenerationEntry[]): Promise<readonly Snapshot[]> => {
    const read: Snapshot[] = []
    for (const { source, snapshot } of all) {
      const found = configured.has(source) ? await store?.snapshots.readWhole(snapshot) : undefined
      if (found !== undefined) read.push(found)
    }
    return read
  }
  const snapshots = await readAll(served?.sources ?? [])
  const snapshotsInRings = await readAll(served === undefined ? [] : heldInRings(served))
  return {
    config,
    store,
    served,
    snapshots,
    snapshotsInRings,
    named,
    looked: new Set(),
    checked: new Set(),
    show,
    signal,
  }
}

/** The snapshots of a generation that a ring serves, or may still take, and that the first ring does not serve. */
export function heldInRings(generation: Generation): readonly GenerationEntry[] {
  const first = new Set(generation.sources.map(({ snapshot }) => snapshot))
  const others = snapshotsInTrails(generation).filter(({ snapshot }) => !first.has(snapshot))
  return [...new Map(others.map((held) => [held.snapshot, held])).values()]
}

/** The place of a finding: a source, a skill of it, or a file of that. */
export function placeIn(source: string, ...parts: readonly (string | undefined)[]): string {
  return [source, ...parts].filter((part) => part !== undefined && part !== '').join('/')
}

/** True if the subject of a finding is the source, or is in it. */
export function isIn(source: string, subject: string): boolean {
  return subject === source || subject.startsWith(`${source}/`)
}
