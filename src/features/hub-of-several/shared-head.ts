import type { Log } from '../../base/log.ts'
import { SyncError, undefinedIfDamaged } from '../../sync/model/sync-error.ts'
import type { PostgresObjects } from '../../sync/postgres/postgres-objects.ts'
import type { HeadRecord, ObjectStore, StoreHead } from '../../sync/store/objects/object-store.ts'
import type { Store } from '../../sync/store/store.ts'
import { copyGeneration } from './copy-generation.ts'

interface Parts {
  readonly store: Store
  readonly log: Log
  /** Aborted when this process ends. */
  readonly signal: AbortSignal
}

/** Copies heads, and the generations that they name, between the store of this process and the database of the hub. */
export class SharedHead {
  readonly #parts: Parts
  /** True if the history in the database may have generations that this store lacks. */
  #hasGaps = true
  /** True if the database may lack records that this store has. */
  #isBehind = false
  /** The sequences of generations in the database that cannot be copied. */
  readonly #damaged = new Set<number>()
  /** The sequences of the records that were asked for: one that cannot be used stays away. */
  readonly #asked = new Set<number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** True if this store has all generations that the database has: otherwise it cannot know what may be forgotten. */
  get hasHistory(): boolean {
    return !this.#hasGaps
  }

  /** Brings this store to the head of the database. Returns true if another generation is served here then. */
  async take(objects: PostgresObjects): Promise<boolean> {
    const { store, signal } = this.#parts
    using _lease = store.objects.lease()
    using _sharedLease = objects.lease()
    const [ours, theirs] = [await store.objects.head(), await objects.head()]
    if (isSameHead(ours, theirs)) return false
    if (ours !== undefined && ours.sequence >= (theirs?.sequence ?? 0))
      return await this.#restore(objects, ours, theirs)
    if (theirs === undefined) return false
    await copyGeneration(theirs, { from: objects, to: store.objects }, signal)
    // A publication of this process can end while its generation is copied.
    if (!(await store.generations.adopt(theirs, await recordOf(theirs, objects)))) return false
    this.#hasGaps ||= theirs.sequence !== (ours?.sequence ?? 0) + 1
    if (ours === undefined) this.#asked.clear()
    return true
  }

  /**
   * Copies some of the generations that this process has not served itself: any process can roll back to them, and show
   * them. Returns true if more are left.
   */
  async fillHistory(objects: PostgresObjects): Promise<boolean> {
    const { objects: ours } = this.#parts.store
    if (this.#isBehind) await copyRecords(ours, objects)
    this.#isBehind = false
    if (!this.#hasGaps) return false
    const known = new Set((await ours.heads()).map(({ sequence }) => sequence))
    const lacking = (await objects.heads())
      .slice(0, MOST_EARLIER)
      .filter(({ sequence }) => !known.has(sequence) && !this.#damaged.has(sequence))
    for (const head of lacking.slice(0, EARLIER_AT_ONCE)) await this.#addEarlier(head, objects)
    const isMore = await copyRecords(objects, ours, this.#asked)
    this.#hasGaps = isMore || lacking.length > EARLIER_AT_ONCE
    return this.#hasGaps
  }

  async #addEarlier(head: StoreHead, objects: PostgresObjects): Promise<void> {
    const { store, signal } = this.#parts
    using _lease = store.objects.lease()
    using _sharedLease = objects.lease()
    // The leader may collect it meanwhile.
    const copied = await copyGeneration(head, { from: objects, to: store.objects }, signal).catch(undefinedIfDamaged)
    if (copied === undefined) return void this.#damaged.add(head.sequence)
    await store.generations.exclusively(async () => {
      await store.folder.expectRight()
      await store.objects.addEarlier(head)
    })
  }

  /**
   * The database is behind what this process serves: it is new, or a copy took its place that had not received the last
   * publications. They are put there again if they continue what it has. If another process has published meanwhile, that
   * counts. Returns true if another generation is served here.
   */
  async #restore(objects: PostgresObjects, ours: StoreHead, theirs: StoreHead | undefined): Promise<boolean> {
    const { store, log, signal } = this.#parts
    const isContinued = theirs === undefined || (await store.objects.heads()).some((head) => isSameHead(head, theirs))
    if (isContinued && ours.sequence > (theirs?.sequence ?? 0)) {
      await copyGeneration(ours, { from: store.objects, to: objects }, signal)
      const isPut = await objects.restore(theirs, ours, await recordOf(ours, store.objects))
      this.#isBehind ||= isPut
      if (isPut) log.warn('shared-store-behind', { generation: ours.sequence, database: theirs?.sequence ?? 0 })
      return false
    }
    if (theirs === undefined) return false
    await copyGeneration(theirs, { from: objects, to: store.objects }, signal)
    await store.generations.exclusively(async () => {
      await store.folder.expectRight()
      await store.objects.adopt([theirs])
    })
    log.warn('generation-replaced', { generation: ours.sequence, database: theirs.sequence })
    this.#hasGaps = true
    this.#asked.clear()
    return true
  }

  /**
   * Makes a head of this process that of the database, with all that it names. Returns false if another process has
   * published, or leads.
   */
  async publish(
    objects: PostgresObjects,
    before: StoreHead | undefined,
    [next, record]: readonly [StoreHead, HeadRecord],
  ): Promise<boolean> {
    const { store, signal } = this.#parts
    await copyGeneration(next, { from: store.objects, to: objects }, signal)
    try {
      if (await objects.swap(before, next, record)) return true
    } catch (error) {
      // The answer to a swap can be lost: then the head shows if it was made.
      if (!(error instanceof SyncError) || !isSameHead(await objects.head(), next)) throw error
      return true
    }
    return isSameHead(await objects.head(), next)
  }
}

function isSameHead(one: StoreHead | undefined, other: StoreHead | undefined): boolean {
  return one?.sequence === other?.sequence && one?.generation === other?.generation
}

async function recordOf(head: StoreHead, from: Pick<ObjectStore, 'records'>): Promise<HeadRecord | undefined> {
  for await (const record of from.records([head.sequence])) return record
  return undefined
}

/**
 * Copies the records that the second store lacks and that were not asked for, newest first. Returns true if more are left:
 * some are copied at once if `asked` is given.
 */
export async function copyRecords(
  from: Pick<ObjectStore, 'recordSequences' | 'records'>,
  to: Pick<ObjectStore, 'recordSequences' | 'addRecords'>,
  asked?: Set<number>,
): Promise<boolean> {
  const known = new Set(await to.recordSequences())
  const lacking = (await from.recordSequences()).filter((one) => !known.has(one) && asked?.has(one) !== true)
  const some = lacking.slice(0, asked && RECORDS_AT_ONCE)
  for await (const records of recordLots(some, from)) await to.addRecords(records)
  for (const sequence of some) asked?.add(sequence)
  return some.length < lacking.length
}

/** The records of these sequences, a few for each write. */
export async function* recordLots(
  sequences: readonly number[],
  from: Pick<ObjectStore, 'records'>,
): AsyncGenerator<readonly HeadRecord[]> {
  for (let at = 0; at < sequences.length; at += RECORDS_OF_A_WRITE) {
    const records: HeadRecord[] = []
    for await (const record of from.records(sequences.slice(at, at + RECORDS_OF_A_WRITE))) records.push(record)
    yield records
  }
}

const RECORDS_OF_A_WRITE = 50
/** Other work is done in between. */
const RECORDS_AT_ONCE = 1_000
/** The earlier generations that are copied. */
const MOST_EARLIER = 1_000
/** Other work is done in between. */
const EARLIER_AT_ONCE = 20
