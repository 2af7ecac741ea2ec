import type { LifecycleRules } from '../catalog/operator-lifecycle.ts'
import type { Decisions } from '../model/decisions/decisions.ts'
import type { Generation, GenerationEntry } from '../model/generation.ts'
import type { Snapshot, ServedSource } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { SourceRecord } from '../store/source-records.ts'
import type { Store } from '../store/store.ts'
import type { RingPolicy } from './rings/ring-contents.ts'

/** The checks that stored content must pass before it is served. */
export interface Admission {
  /** True if a snapshot may be served, by the lock, the signatures and the operator's decisions. */
  readonly admits: (snapshot: Snapshot, decisions: Decisions) => Promise<boolean>
  /** Sources whose skills each wait for approval. */
  readonly reviewed: ReadonlySet<SourceId>
  /** The statements of the operator about skills. */
  readonly lifecycles?: LifecycleRules
  /** `undefined` if there are no rings. */
  readonly rings?: RingPolicy | undefined
}

/** A source whose last served content was lost from the disk. */
export interface LostSource {
  readonly source: SourceId
  /** The snapshot of an older generation that is served instead; `undefined` if there is none. */
  readonly instead: Snapshot | undefined
}

/** The stored generation, without content that must not be served. */
export interface LoadedGeneration {
  readonly generation: Generation
  readonly held: readonly ServedSource[]
  /** The sources with content that is not admitted. */
  readonly refused: readonly SourceId[]
  readonly lost: readonly LostSource[]
}

/** The sources of which something was served, by their records, in a store without a readable generation. */
export async function everServed(store: Store, order: readonly SourceId[]): Promise<readonly LostSource[]> {
  const records = await Promise.all(order.map(async (source) => ({ source, record: await store.records.read(source) })))
  return records.flatMap(({ source, record }) => (wasServed(record) ? [withNothing(source)] : []))
}

function withNothing(source: SourceId): LostSource {
  return { source, instead: undefined }
}

/** A check that succeeded may have found content that waits for its first approval. */
function wasServed(record: SourceRecord | undefined): boolean {
  if (record?.followed !== undefined) return true
  return record?.lastSuccess !== undefined && record.problem === undefined
}

/**
 * Loads the stored content of the sources, in their order; content of other sources is left out. `known`: what is in
 * memory already.
 */
export async function loadGeneration(
  store: Store,
  order: readonly SourceId[],
  admission: Admission,
  known: ReadonlyMap<SourceId, ServedSource> = new Map(),
): Promise<LoadedGeneration | undefined> {
  for (let loads = 1; ; loads += 1) {
    const generation = await store.generations.newest()
    if (generation === undefined) return undefined
    const { isWhole, ...loaded } = await loadOf({ store, generation, known }, order, admission)
    if (isWhole || loads === MOST_LOADS) return loaded
    // Missing content can have been collected meanwhile only if another generation is served by now; otherwise it is
    // damage.
    if ((await store.generations.newest())?.number === generation.number) return loaded
  }
}

/** If another process publishes and collects as fast as this reads, nothing exists for long enough. */
const MOST_LOADS = 8

interface Loading {
  readonly store: Store
  readonly generation: Generation
  readonly known: ReadonlyMap<SourceId, ServedSource>
}

async function loadOf(
  { store, generation, known }: Loading,
  order: readonly SourceId[],
  { admits }: Admission,
): Promise<LoadedGeneration & { readonly isWhole: boolean }> {
  const heldBySource = new Map(generation.sources.map((each) => [each.source, each]))
  const sources = order.filter((id) => heldBySource.has(id))
  const held: ServedSource[] = []
  const refused: SourceId[] = []
  const lost: LostSource[] = []
  const all = await Promise.all(
    sources.map(async (source) => ({
      source,
      found:
        knownAs(heldBySource.get(source), known) ??
        (await currentIn(store, heldBySource.get(source))) ??
        (await earlierOf(store, source, generation)),
    })),
  )
  for (const { source, found } of all) {
    const isLost = found === undefined || heldBySource.get(source) !== found.held
    if (isLost) lost.push({ source, instead: found?.snapshot })
    if (found === undefined) continue
    if (await admits(found.snapshot, store.decisions.known)) held.push(found)
    else refused.push(found.held.source)
  }
  const served = { ...generation, sources: held.map((entry) => entry.held) }
  const isWhole = lost.length === 0
  const before = order.filter((id) => generation.lost?.includes(id) && !sources.includes(id))
  return { generation: served, held, refused, lost: [...lost, ...before.map(withNothing)], isWhole }
}

/** `undefined` if another snapshot of the source is in memory, or none. */
function knownAs(
  held: GenerationEntry | undefined,
  known: ReadonlyMap<SourceId, ServedSource>,
): ServedSource | undefined {
  const current = held && known.get(held.source)
  return held !== undefined && current?.held.snapshot === held.snapshot ? { ...current, held } : undefined
}

/** Returns the content of the newest generation before that has it whole: it is old, and its age shows that. */
async function earlierOf(store: Store, source: SourceId, newest: Generation): Promise<ServedSource | undefined> {
  for (const number of await store.generations.numbers()) {
    if (number >= newest.number) continue
    const earlier = await store.generations.read(number)
    const found = await currentIn(
      store,
      earlier?.sources.find((candidate) => candidate.source === source),
    )
    if (found !== undefined) return found
  }
  return undefined
}

/** `undefined` if nothing is held, or if its snapshot is damaged or gone. */
async function currentIn(store: Store, held: GenerationEntry | undefined): Promise<ServedSource | undefined> {
  const snapshot = held && (await store.snapshots.readWhole(held.snapshot))
  return held && snapshot && { held, snapshot }
}
