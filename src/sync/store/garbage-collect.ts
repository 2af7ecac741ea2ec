import type { Generation } from '../model/generation.ts'
import type { Checkouts } from './checkouts/checkouts.ts'
import type { GenerationObjects, GenerationStore } from './generation-store.ts'
import { KeptContents } from './kept-contents.ts'
import type { LiveObjects, ObjectStore, StoreHead } from './objects/object-store.ts'
import { snapshotsInTrails } from './ring-states.ts'
import type { UpstreamFiles } from './skills/upstream-files.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/**
 * The retention policy. It keeps the newest `generations` and all younger than `youngerThanMs`, if they fit into
 * `bytes`; the oldest go first. The served generation always stays.
 */
export interface Retention {
  readonly generations: number
  readonly youngerThanMs: number
  /** The most bytes of the files that the kept generations name. */
  readonly bytes: number
}

/** The defaults: 3 generations, 24 hours, 8 GiB. */
export const RETENTION: Retention = { generations: 3, youngerThanMs: 86_400_000, bytes: 2 ** 33 }

/** The number of removed items per kind, the bytes that were freed, and the bytes that are left. */
export interface Collected {
  readonly generations: number
  readonly objects: number
  readonly checkouts: number
  readonly bytes: number
  readonly left: number
}

/** The time of a garbage collection, and what it leaves. */
export interface Collection {
  readonly now: Date
  readonly retention: Retention
  /** The snapshots that stay although no generation names them. */
  readonly keep: ReadonlySet<string>
  /** Returns further objects that stay. Called when no publish runs any more. */
  readonly live?: () => Promise<Iterable<string>>
  /** Collects in another store that has the same generations, before this one does. */
  readonly also?: (objects: LiveObjects) => Promise<void>
}

interface Stores {
  readonly objects: ObjectStore
  readonly generations: GenerationStore
  readonly snapshots: SnapshotStore
  readonly checkouts: Checkouts
  readonly upstreams: UpstreamFiles
}

/**
 * Forgets old generations, then removes what no remaining one names: objects, checkouts, and files of other MCP
 * servers. What a running pull has stored or relies on stays.
 */
export async function collect(stores: Stores, collection: Collection, signal: AbortSignal): Promise<Collected> {
  return stores.generations.exclusively(async () => {
    const kept = await chooseKept(stores, collection, signal)
    if (kept === undefined) return NOTHING
    const { generations, forgotten, contents } = kept
    for (const digest of (await collection.live?.()) ?? []) contents.live.add(digest)
    await collection.also?.({ heads: generations, live: contents.live })
    const { objects, bytes, left } = await stores.objects.collect({ heads: generations, live: contents.live })
    const checkouts = await stores.checkouts.keepOnly(contents.digests)
    const freed = await stores.upstreams.keepOnly(contents.upstreamFiles)
    return { generations: forgotten, objects, checkouts, bytes: bytes + freed, left }
  })
}

const NOTHING: Collected = { generations: 0, objects: 0, checkouts: 0, bytes: 0, left: 0 }

interface Kept {
  readonly generations: ReadonlySet<number>
  readonly forgotten: number
  readonly contents: KeptContents
}

/**
 * `undefined` if what is served, or a snapshot to keep, cannot be read: what it names is unknown, and the operator may
 * still restore it.
 */
async function chooseKept(stores: Stores, collection: Collection, signal: AbortSignal): Promise<Kept | undefined> {
  const [head, ...earlier] = await stores.objects.heads()
  const served = head && (await stores.generations.outline(head))
  if (head !== undefined && served === undefined) return undefined
  const contents = new KeptContents(stores.snapshots, signal)
  const needed = [...collection.keep, ...(served === undefined ? [] : namedBy(served.generation))]
  if ((await contents.add(needed, Infinity)) !== 'added') return undefined
  const kept = served === undefined ? [] : [served, ...(await keepEarlier(stores, earlier, contents, collection))]
  for (const { objects } of kept) for (const digest of objects) contents.live.add(digest)
  const forgotten = head === undefined ? 0 : earlier.length + 1 - kept.length
  return { generations: new Set(kept.map(({ generation }) => generation.number)), forgotten, contents }
}

/** Returns the earlier generations that the retention keeps, and adds what they name to the contents. */
async function keepEarlier(
  stores: Stores,
  heads: readonly StoreHead[],
  contents: KeptContents,
  { now, retention }: Collection,
): Promise<readonly GenerationObjects[]> {
  const kept: GenerationObjects[] = []
  for (const head of heads) {
    const outline = await stores.generations.outline(head)
    // A damaged one counts for none of those to keep.
    if (outline === undefined) continue
    // The served generation is one of the number.
    if (kept.length + 1 >= retention.generations && !isYoung(outline.generation, now, retention)) break
    const result = await contents.add(namedBy(outline.generation), retention.bytes)
    // The first generation that does not fit ends the list: no older one is kept instead.
    if (result === 'too-large') break
    if (result === 'added') kept.push(outline)
  }
  return kept
}

function namedBy(generation: Generation): readonly string[] {
  return [...new Set([...generation.sources, ...snapshotsInTrails(generation)].map(({ snapshot }) => snapshot))]
}

function isYoung(generation: Generation, now: Date, retention: Retention): boolean {
  return now.getTime() - Date.parse(generation.createdAt) < retention.youngerThanMs
}
