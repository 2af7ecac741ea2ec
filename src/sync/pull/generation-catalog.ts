import { runInSlices, type Steps } from '../../base/async/cooperative.ts'
import { catalogAfter } from '../catalog/catalog-update.ts'
import { EMPTY_CATALOG, buildingCatalog } from '../catalog/catalog.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { withLifecycles } from '../catalog/operator-lifecycle.ts'
import type { LifecycleRules } from '../catalog/operator-lifecycle.ts'
import { pendingIn } from '../model/decisions/approvals.ts'
import { findingDisabled, withoutDisabledDocs } from '../model/decisions/disabled-matches.ts'
import type { Disabled, OutOfService } from '../model/decisions/out-of-service.ts'
import type { Generation, GenerationEntry } from '../model/generation.ts'
import type { Snapshot, ServedSource } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { DecisionStore } from '../store/decision-store.ts'
import type { GenerationStore } from '../store/generation-store.ts'
import type { SnapshotStore } from '../store/snapshot-store.ts'
import type { Store } from '../store/store.ts'
import { everServed, loadGeneration } from './load-generation.ts'
import type { Admission, LoadedGeneration, LostSource } from './load-generation.ts'
import { heldInRing, loadRings, stepIn } from './rings/ring-contents.ts'

/**
 * The catalog of these sources from the current store, for a process that only reads it. It uses the disabled skills as
 * this process last read them; if it tried to and never could, nothing is served.
 */
export async function currentCatalog(
  store: Store,
  sources: readonly SourceId[],
  admission: Admission,
  ring?: string,
): Promise<Catalog> {
  return (await currentState(store, sources, admission, ring)).catalog
}

/**
 * `currentCatalog`, with the sources whose served content was lost from the disk. `ring`: a ring after the first, whose
 * catalog it is.
 */
export async function currentState(
  store: Store,
  sources: readonly SourceId[],
  admission: Admission,
  ring?: string,
): Promise<{ readonly catalog: Catalog; readonly lost: readonly LostSource[] }> {
  if (store.decisions.areUnknown) return { catalog: EMPTY_CATALOG, lost: [] }
  const loaded = await loadGeneration(store, sources, admission)
  const { generation, held } = await contentIn(loaded, store, admission, ring)
  const catalog = catalogOf({ generation, held, decided: store.decisions, admission, before: EMPTY_CATALOG })
  return { catalog: await runInSlices(catalog), lost: loaded?.lost ?? (await everServed(store, sources)) }
}

async function contentIn(
  loaded: LoadedGeneration | undefined,
  store: Store,
  { rings: policy }: Admission,
  ring: string | undefined,
): Promise<Pick<CatalogInputs, 'generation' | 'held'>> {
  if (loaded === undefined) return { generation: undefined, held: [] }
  const { generation, held: first } = loaded
  if (policy === undefined || ring === undefined) return { generation, held: first }
  const held = heldInRing(ring, first, await loadRings(generation, policy, store))
  return { generation: { ...generation, sources: held.map((current) => current.held) }, held }
}

/** The part of a store that has earlier generations. */
export interface PastStore {
  readonly generations: Pick<GenerationStore, 'read'>
  readonly snapshots: Pick<SnapshotStore, 'readWhole'>
  readonly decisions: Pick<DecisionStore, 'outOfService'>
}

/** An earlier generation, as it was served. */
export interface PastGeneration {
  readonly number: number
  /**
   * Its sources, each with the skills that were disabled. If that is unknown, all sources, without the skills that are
   * disabled now.
   */
  readonly sources?: readonly (readonly string[])[] | undefined
  /** The statements of the operator about skills. */
  readonly lifecycles?: LifecycleRules | undefined
  /** The ring whose content it is; by default, the first. */
  readonly ring?: string | undefined
}

/** The catalog of an earlier generation; `undefined` if it is no longer whole. */
export async function pastCatalog(
  store: PastStore,
  { number, sources, lifecycles, ring }: PastGeneration,
): Promise<Catalog | undefined> {
  if (number === 0) return EMPTY_CATALOG
  const generation = await store.generations.read(number)
  if (generation === undefined) return undefined
  const told = new Map(sources?.map(([id = '', ...paths]) => [id, new Set(paths)]))
  const ofRing = ring === undefined ? generation.sources : pastOfRing(ring, generation)
  const held = sources?.flatMap(([id]) => ofRing.filter(({ source }) => source === id)) ?? ofRing
  const snapshots: Snapshot[] = []
  for (const { snapshot: digest } of held) {
    const snapshot = await store.snapshots.readWhole(digest)
    if (snapshot === undefined) return undefined
    snapshots.push(withLifecycles(snapshot, lifecycles))
  }
  return runInSlices(pastOf({ ...generation, sources: held }, snapshots, store.decisions.outOfService, told))
}

/** The content of a ring in an earlier generation, by the rings of then. */
function pastOfRing(ring: string, { sources, rings }: Generation): readonly GenerationEntry[] {
  const trails = new Map(rings?.trails.map((trail) => [trail.source, trail]))
  return sources.flatMap((held) => {
    const trail = trails.get(held.source)
    if (trail === undefined) return held
    const step = stepIn(trail, ring)
    return step === undefined ? [] : { source: held.source, snapshot: step.snapshot }
  })
}

function* pastOf(
  generation: Generation,
  snapshots: readonly Snapshot[],
  out: OutOfService,
  told: ReadonlyMap<string, ReadonlySet<string>>,
): Steps<Catalog> {
  const hidden = new Map<SourceId, ReadonlySet<string>>()
  for (const snapshot of snapshots) {
    const { source } = snapshot
    hidden.set(source, told.get(source) ?? new Set((yield* findingDisabled(snapshot, out)).keys()))
  }
  return yield* buildingCatalog(generation, snapshots, hidden)
}

/** The part of an admission that a catalog depends on. */
export type CatalogAdmission = Pick<Admission, 'reviewed' | 'lifecycles'>

/** The content to build a catalog of, and what decides which part of it is served. */
export interface CatalogInputs {
  readonly generation: Generation | undefined
  readonly held: readonly ServedSource[]
  readonly decided: Pick<DecisionStore, 'outOfService' | 'approvals'>
  readonly admission: CatalogAdmission
  /** The last catalog, whose unchanged parts are used again. */
  readonly before: Catalog
}

/** Builds the catalog of a generation, in slices. */
export function* catalogOf({ generation, held, decided, admission, before }: CatalogInputs): Steps<Catalog> {
  if (generation === undefined) return EMPTY_CATALOG
  const { reviewed, lifecycles } = admission
  const snapshots = held.map(({ snapshot }) =>
    withoutDisabledDocs(withLifecycles(snapshot, lifecycles), decided.outOfService),
  )
  return yield* catalogAfter(before, generation, snapshots, yield* hidingIn(snapshots, decided, reviewed))
}

/** The skills that exist but are not served: disabled, or waiting for approval. */
function* hidingIn(
  snapshots: readonly Snapshot[],
  { outOfService: out, approvals }: Pick<DecisionStore, 'outOfService' | 'approvals'>,
  reviewed: ReadonlySet<SourceId>,
): Steps<Disabled> {
  const hidden = new Map<SourceId, ReadonlySet<string>>()
  for (const snapshot of snapshots) {
    const { source } = snapshot
    const matches = yield* findingDisabled(snapshot, out)
    const pending = reviewed.has(source) ? pendingIn(snapshot, approvals).map(({ path }) => path) : []
    const paths = [...matches.keys(), ...pending]
    if (paths.length > 0) hidden.set(source, new Set(paths.toSorted()))
  }
  return hidden
}
