import { inParallel } from '../../../base/async/parallel.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { LEADER, Damaged, SyncError, undefinedIfDamaged } from '../../../sync/model/sync-error.ts'
import type { SharedStore } from '../../../sync/postgres/shared-store.ts'
import { encodeEntry } from '../../../sync/store/channel-entry.ts'
import type { ChannelEntry } from '../../../sync/store/channel-entry.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { isSameHash } from '../../../sync/transparency-log/merkle-tree.ts'
import { keptAt } from '../content/channel-contents.ts'
import type { KeptChannel } from '../content/channel-contents.ts'
import type { ChannelLog } from '../content/channel-log.ts'
import { expectObject, objectsOf } from '../content/channel-tree.ts'

/** The parts of a `SharedChannel`. */
export interface SharedChannelParts extends Pick<DaemonContext, 'replica'> {
  readonly shared: SharedStore
  /** The name of the log. */
  readonly origin: string
  /** The objects of this process. */
  readonly objects: ObjectStore
}

/** The beginning of a log that is known to be the same in the database. */
interface Agreed {
  readonly size: number
  readonly root: Uint8Array
}

/**
 * The log and the objects of a channel in the database that the processes of a hub share. The leader appends each entry
 * there first, so that no place of the log can have two; then each process has it in its own file and store.
 */
export class SharedChannel {
  readonly #parts: SharedChannelParts
  #agreed: Agreed | undefined

  constructor(parts: SharedChannelParts) {
    this.#parts = parts
  }

  /** The epoch in which this process leads; `undefined` if it does not, as far as it knows. */
  get epoch(): number | undefined {
    return epochOf(this.#parts)
  }

  /**
   * Brings the log to the state of the database, page by page. Entries that are here alone come from before the hub had a
   * database, or from before that lost some: they were signed, so the leader stores them there. Returns the failure if
   * the database cannot be read; the log then has what was read before. Throws `store-failed` if the logs differ.
   */
  async take(log: ChannelLog): Promise<SyncError | undefined> {
    const { shared, origin } = this.#parts
    const agreed = await this.#agreedSizeOf(log)
    // The last line that is known is compared again: a copy of the database that lost some could have others by now.
    let size = Math.max(agreed - 1, 0)
    const pages = shared.logs.since(origin, size)
    for (;;) {
      const page = await pages.next().catch(unlessFatal)
      if (page instanceof SyncError) return page
      if (page.done === true) break
      await log.takeOver(page.value, size)
      size += page.value.length
      await this.#agree(log, size)
    }
    if (size < agreed) {
      // The database has lost lines that it had: all that it still has is compared.
      this.#agreed = undefined
      return this.take(log)
    }
    if (size < log.size) await this.#appendRest(log, size)
    return undefined
  }

  /** A log that was read anew from its file must still begin with the lines that are known to agree. */
  async #agreedSizeOf(log: ChannelLog): Promise<number> {
    if (this.#agreed === undefined) return 0
    const { size, root } = this.#agreed
    return size <= log.size && isSameHash(await log.rootAt(size), root) ? size : 0
  }

  async #agree(log: ChannelLog, size: number): Promise<void> {
    this.#agreed = { size, root: await log.rootAt(size) }
  }

  async #appendRest(log: ChannelLog, size: number): Promise<void> {
    const { shared, origin } = this.#parts
    const { epoch } = this
    if (epoch === undefined)
      throw new SyncError(
        'store-failed',
        `Cannot use the log "${origin}": it has ${log.size} entries here, and ${size} in the database; if they are lost there, let this process lead first`,
      )
    await shared.logs.append({ log: origin, position: size, lines: log.lines(size) }, epoch)
    await this.#agree(log, log.size)
  }

  /** Appends an entry to the database, and then to the log. Throws `store-failed` if this process does not lead. */
  async append(log: ChannelLog, entry: ChannelEntry): Promise<void> {
    const { shared, origin } = this.#parts
    const line = encodeEntry(entry).toString().slice(0, -1)
    const { epoch } = this
    if (epoch === undefined)
      throw new SyncError('store-failed', 'Cannot publish: another process leads the hub', { fix: LEADER })
    await shared.logs.append({ log: origin, position: log.size, lines: [line] }, epoch)
    await log.append(entry)
  }

  /**
   * Calls back once the database has these objects of this process. Until that has ended, no collection of this process
   * removes them there.
   */
  async whileStored<Done>(digests: Iterable<Digest>, work: () => Promise<Done>): Promise<Done> {
    const { shared, objects } = this.#parts
    const there = await shared.open()
    using _lease = there.lease()
    let batch: Uint8Array[] = []
    let bytes = 0
    for (const digest of await there.missing(digests)) {
      const object = await expectObject(objects, digest)
      batch.push(object)
      bytes += object.byteLength
      if (bytes < BATCH_BYTES) continue
      await there.put(batch)
      ;[batch, bytes] = [[], 0]
    }
    await there.put(batch)
    // Awaited here: the lease ends with this block.
    return await work()
  }

  /** Copies all objects of a channel that are not here yet. Throws `Damaged` if the database lacks one. */
  async bring(head: Digest, signal: AbortSignal): Promise<KeptChannel> {
    const { shared, objects, origin } = this.#parts
    const known = await keptAt(head, objects, signal)
    if (known !== undefined) return known
    const there = await shared.open()
    const get = async (digest: Digest): Promise<Uint8Array | undefined> => {
      const own = await objects.get(digest).catch(undefinedIfDamaged)
      if (own !== undefined) return own
      const bytes = await there.get(digest)
      if (bytes !== undefined) await objects.put([bytes])
      return bytes
    }
    const missing = await objects.missing([...(await objectsOf([head], { get }, signal))])
    await inParallel(missing, AT_ONCE, async (digest) => void (await get(digest)), signal)
    const kept = await keptAt(head, objects, signal)
    if (kept !== undefined) return kept
    throw new Damaged(`Cannot take the newest entry of "${origin}": the database lacks objects of it`)
  }
}

/** The failure of the database, as a value. */
function unlessFatal(error: unknown): SyncError {
  if (error instanceof SyncError) return error
  throw error
}

/** The bytes that are read before they are stored. */
const BATCH_BYTES = 2 ** 22

/** The objects that are read at once. */
const AT_ONCE = 4

/** The epoch in which this process publishes. One that has just taken the lead first takes over what is served. */
export function epochOf({ shared, replica }: Pick<DaemonContext, 'shared' | 'replica'>): number | undefined {
  return replica?.isLeading === false ? undefined : shared?.leadership.epoch
}

/** True if this process publishes: the only one of its hub, or the leader. */
export function publishes(parts: Pick<DaemonContext, 'shared' | 'replica'>): boolean {
  return parts.shared === undefined || epochOf(parts) !== undefined
}
