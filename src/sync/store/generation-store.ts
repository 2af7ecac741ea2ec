import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { CAUSE } from '../model/generation.ts'
import type { Generation, GenerationEntry } from '../model/generation.ts'
import { isSourceId } from '../model/source-id.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError, undefinedIfDamaged } from '../model/sync-error.ts'
import { writeWhole } from './files/atomic.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'
import { GenerationParts, isHeldList, isInParts } from './generation-parts.ts'
import { GenerationRecords } from './generation-records.ts'
import type { KnownSnapshots, RecordedSource } from './generation-records.ts'
import { putJson, textOf } from './objects/json-object.ts'
import type { Digest, HeadRecord, StoreHead, ObjectStore } from './objects/object-store.ts'
import { snapshotsInTrails, isRingStates } from './ring-states.ts'
import { isDigest } from './skills/stored-path.ts'
import type { SnapshotStore } from './snapshot-store.ts'

/** The name of the file in the state folder that changes after each publish. */
export const HINT = 'current'

/** Commits a head in place of another one before it is served. Rejects with a `SyncError` if it cannot. */
export type CommitHead = (before: StoreHead | undefined, next: StoreHead, record: HeadRecord) => Promise<void>

/** The generations: each is an object, and the head of the store names the served one. */
export class GenerationStore {
  readonly records: GenerationRecords
  readonly #state: StateFolder
  readonly #objects: ObjectStore
  readonly #snapshots: SnapshotStore
  readonly #parts: GenerationParts
  readonly #queue = new SerialQueue()
  #commit: CommitHead = async () => {}

  constructor(state: StateFolder, objects: ObjectStore, snapshots: SnapshotStore) {
    this.records = new GenerationRecords(objects, snapshots)
    this.#state = state
    this.#objects = objects
    this.#snapshots = snapshots
    this.#parts = new GenerationParts(objects)
  }

  /**
   * Has each publication committed elsewhere first: a head that this rejects is never served. Only for the one writer.
   */
  commitWith(commit: CommitHead): void {
    this.#commit = commit
  }

  /** Returns the served generation. If that is damaged, returns the newest intact one; `undefined` if there is none. */
  async current(): Promise<Generation | undefined> {
    for (const head of await this.#objects.heads()) {
      const generation = await this.#readAt(head)
      if (generation !== undefined && (await this.#isWhole(generation))) return generation
    }
    return undefined
  }

  /** Returns the served generation, or the newest readable one. Its snapshots need not exist. */
  async newest(): Promise<Generation | undefined> {
    for (const head of await this.#objects.heads()) {
      const generation = await this.#readAt(head)
      if (generation !== undefined) return generation
    }
    return undefined
  }

  /** `undefined` if it does not exist or is damaged. */
  async read(number: number): Promise<Generation | undefined> {
    const head = (await this.#objects.heads()).find(({ sequence }) => sequence === number)
    return head && this.#readAt(head)
  }

  /** The sources of a generation whose contents are gone, by the records; `undefined` if they do not reach it. */
  async recordedSources(number: number): Promise<ReadonlyMap<SourceId, RecordedSource> | undefined> {
    const served = await this.current()
    return served && (number < served.number ? this.records.sourcesAt(number, served) : undefined)
  }

  /** True if this generation is the served one, and names at least these snapshots. */
  async isServed({ number, sources }: Generation): Promise<boolean> {
    const head = await this.#objects.head()
    const found = head?.sequence === number ? await this.#readAt(head) : undefined
    if (found === undefined) return false
    const named = new Map(found.sources.map(({ source, snapshot }) => [source, snapshot]))
    return sources.every(({ source, snapshot }) => named.get(source) === snapshot)
  }

  /** Returns the numbers of all generations, damaged ones included; newest first. */
  async numbers(): Promise<number[]> {
    return (await this.#objects.heads()).map(({ sequence }) => sequence)
  }

  /**
   * Writes the next generation and makes it the served one, and writes its record in the same step. Its snapshots must be
   * in the store already; those of `known` are not read for the record.
   */
  async publish(sources: readonly GenerationEntry[], now: Date, more: MoreOfGeneration = {}): Promise<Generation> {
    return this.exclusively(() => this.#publish(sources, now, more))
  }

  /** Runs the work while no publish runs. Calls run one after the other. */
  async exclusively<Done>(work: () => Promise<Done>): Promise<Done> {
    return this.#queue.next(work)
  }

  async #publish(
    sources: readonly GenerationEntry[],
    now: Date,
    { cause, lost = [], rings, known = new Map() }: MoreOfGeneration,
  ): Promise<Generation> {
    await this.#expectStored([...sources, ...snapshotsInTrails({ rings })])
    const head = await this.#objects.head()
    const generation = {
      number: Math.max(head?.sequence ?? 0, await lastPublished(this.#state.path)) + 1,
      createdAt: now.toISOString(),
      sources: [...sources],
      ...(lost.length > 0 && { lost: [...lost] }),
      ...(cause && { cause }),
      ...(rings && { rings }),
    }
    await this.#state.expectRight()
    const stored = isInParts(sources) ? { ...generation, sources: await this.#parts.keep(sources) } : generation
    const digest = await putJson(this.#objects, stored)
    const before = head === undefined && generation.number === 1 ? 0 : head && (await this.#readAt(head))
    const record = await this.records.of(before, generation, known)
    // Checked once more, right before the switch.
    await this.#state.expectRight()
    const next = { sequence: generation.number, generation: digest }
    await this.#commit(head, next, record)
    await this.#replace(head, next, record)
    return generation
  }

  /**
   * Serves a generation that another process has published, and whose objects are in the store. Calls run in turn. Returns
   * false, and changes nothing, if this process has published that one or a later one itself meanwhile.
   */
  async adopt(next: StoreHead, record?: HeadRecord): Promise<boolean> {
    return this.exclusively(async () => {
      await this.#state.expectRight()
      const head = await this.#objects.head()
      if (head !== undefined && head.sequence >= next.sequence) return false
      await this.#replace(head, next, record)
      return true
    })
  }

  async #replace(head: StoreHead | undefined, next: StoreHead, record: HeadRecord | undefined): Promise<void> {
    if (!(await this.#objects.swap(head, next, record)))
      throw new SyncError('store-failed', 'Cannot publish: another process has published meanwhile', {
        fix: 'Nothing to do: the next pull publishes on top of it',
      })
    await this.#hint(next.sequence)
  }

  async #expectStored(sources: readonly GenerationEntry[]): Promise<void> {
    const [missing] = await this.#snapshots.missing([...new Set(sources.map(({ snapshot }) => snapshot))])
    if (missing === undefined) return
    const source = sources.find(({ snapshot }) => snapshot === missing)?.source
    throw new SyncError('store-failed', `Cannot publish "${source}": its snapshot "${missing}" is not in the store`)
  }

  /** Other processes watch this file to look at the head at once. They look now and then without it. */
  async #hint(number: number): Promise<void> {
    await writeWhole(join(this.#state.path, HINT), `${number}\n`).catch((error: unknown) => {
      if (!(error instanceof SyncError)) throw error
    })
  }

  async #readAt(head: StoreHead): Promise<Generation | undefined> {
    return (await this.outline(head))?.generation
  }

  /** Reads a generation with the digests of its objects; `undefined` if it is damaged. */
  async outline(head: StoreHead): Promise<GenerationObjects | undefined> {
    return readOutline(this.#objects, head, this.#parts)
  }

  async #isWhole(generation: Generation): Promise<boolean> {
    const held = [...generation.sources, ...snapshotsInTrails(generation)]
    return (await this.#snapshots.missing([...new Set(held.map(({ snapshot }) => snapshot))])).length === 0
  }
}

/** The parts of a generation besides its sources, and the snapshots that its publisher has in memory. */
interface MoreOfGeneration extends Pick<Generation, 'cause' | 'lost' | 'rings'> {
  readonly known?: KnownSnapshots
}

/** Reads a generation with the digests of its objects; `undefined` if it is damaged or not in the store. */
export async function readOutline(
  objects: Pick<ObjectStore, 'get'>,
  { sequence, generation: digest }: StoreHead,
  parts: Pick<GenerationParts, 'read'>,
): Promise<GenerationObjects | undefined> {
  const bytes = await objects.get(digest).catch(undefinedIfDamaged)
  const stored = bytes && parseJson(textOf(bytes))
  if (!isObject(stored)) return undefined
  const digests = isDigestList(stored['sources']) ? stored['sources'] : []
  const sources = digests.length === 0 ? heldIn(stored) : await parts.read(digests)
  const generation = generationOf(stored, sources, sequence)
  return generation && { generation, objects: [digest, ...digests] }
}

/** A generation, and the digests of the objects that it is stored in. */
export interface GenerationObjects {
  readonly generation: Generation
  readonly objects: readonly Digest[]
}

/**
 * Returns the number of the generation that was published last, also if its database is gone: none is used twice in one
 * state folder. 0 if there was none.
 */
export async function lastPublished(root: string): Promise<number> {
  const path = join(root, HINT)
  const number = Number(await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`)))
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** The fields of a stored generation, not validated. */
type StoredFields = Readonly<Record<string, unknown>>

function heldIn({ sources }: StoredFields): readonly GenerationEntry[] | undefined {
  return isHeldList(sources) ? sources : undefined
}

function isDigestList(value: unknown): value is readonly Digest[] {
  return Array.isArray(value) && value.every((digest) => typeof digest === 'string' && isDigest(digest))
}

function generationOf(
  { number: stored, createdAt, lost, cause, rings }: StoredFields,
  sources: readonly GenerationEntry[] | undefined,
  number: number,
): Generation | undefined {
  if (stored !== number || !isTime(createdAt) || sources === undefined) return undefined
  // Without its rings, all of them would serve the newest content.
  if (rings !== undefined && !isRingStates(rings)) return undefined
  // Neither of these is served, so an invalid one does not cost the generation.
  const known = CAUSE.safeParse(cause).data
  const noted = { ...(isLost(lost) && { lost }), ...(known && { cause: known }) }
  return { number, createdAt, sources, ...noted, ...(rings !== undefined && { rings }) }
}

function isLost(value: unknown): value is readonly SourceId[] {
  return Array.isArray(value) && value.every((source) => typeof source === 'string' && isSourceId(source))
}
