import { stepByStep } from '../../base/cooperative.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import type { CheckpointWatcher } from '../../serve/http/routes/channel-routes.ts'
import { packingCatalog } from '../../sync/catalog/catalog-packs.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { ChannelContents, keptAt } from '../../sync/channel/channel-contents.ts'
import type { KeptChannel } from '../../sync/channel/channel-contents.ts'
import { CHECKPOINT_PATH, readChannelPath } from '../../sync/channel/channel-entry.ts'
import type { ChannelEntry } from '../../sync/channel/channel-entry.ts'
import { ChannelLog } from '../../sync/channel/channel-log.ts'
import type { PublishedSource } from '../../sync/channel/channel-schema.ts'
import { expectObject, objectsOf, publishedSourcesIn } from '../../sync/channel/channel-tree.ts'
import { FolderChannel } from '../../sync/channel/folder-channel.ts'
import { PackedLists } from '../../sync/channel/packed-lists.ts'
import { MOST_PACKED_BYTES, packObjects } from '../../sync/channel/packed-objects.ts'
import type { NoteSigner } from '../../sync/log/signed-note.ts'
import { SyncError, undefinedIfDamaged } from '../../sync/model/sync-error.ts'
import type { Digest } from '../../sync/store/objects/object-store.ts'
import type { DaemonContext } from '../context.ts'
import { CosignedHead } from './cosigned-head.ts'
import type { Quorum } from './cosigned-head.ts'

/** The parts of the publisher of one channel. */
export interface ChannelPublisherParts extends DaemonContext {
  /** The name of its log. */
  readonly origin: string
  readonly signers: () => Promise<readonly NoteSigner[]>
  readonly quorum: Quorum
  /** The pack that it has; `undefined` for everything that is served. */
  readonly pack: Pack | undefined
  readonly catalog: () => Catalog
}

/** The end of one publication of a channel. */
export interface ChannelEnd {
  /** The number of entries of the log. */
  readonly entries: number
  /** The time of the newest entry. ISO 8601, UTC. */
  readonly at: string
  /** The catalog that it has. */
  readonly catalog: Catalog
  /** True if the newest entry was added by this publication. */
  readonly isNew: boolean
  /** The number of objects that were written to the folder; 0 without one. */
  readonly objects: number
}

/** The objects that are new with an entry. They are served as long as the newest entry names all of them. */
interface PackedChanges {
  readonly digests: readonly Digest[]
  readonly bytes: Uint8Array
}

/** A channel with an entry for what is served. */
interface Current extends KeptChannel {
  readonly log: ChannelLog
  /** The signed head of the log, with the cosignatures of its witnesses, and its size. The log may have more entries. */
  readonly note: string
  readonly size: number
}

/**
 * Publishes one channel: an entry of its log for each content that is served, the folders with it, and the files of it
 * that clients ask for. One publication runs at a time.
 */
export class ChannelPublisher {
  readonly #parts: ChannelPublisherParts
  readonly #contents: ChannelContents
  readonly #packedLists: PackedLists
  readonly #head: CosignedHead
  readonly #queue = new SerialQueue()
  readonly #folders = new Map<string, FolderChannel>()
  #log: Promise<ChannelLog> | undefined
  #current: Current | undefined
  #isEnded = false
  readonly #watchers = new Set<CheckpointWatcher>()
  /** The packed changes of the last entries that this process has appended, by their indexes. */
  readonly #changes = new Map<number, PackedChanges>()

  constructor(parts: ChannelPublisherParts) {
    this.#parts = parts
    this.#contents = new ChannelContents(parts.store.objects)
    this.#packedLists = new PackedLists(parts.store.objects)
    const { store, origin, quorum, log, pack } = parts
    const file = checkpointFileOf(pack?.id)
    this.#head = new CosignedHead({ folder: store.folder, file, origin, quorum, log })
  }

  /**
   * Serves what the publisher of the earlier configuration has served of the same log, until there is something newer: a
   * reload stops no follower.
   */
  takeOver(before: ChannelPublisher): void {
    if (before.#parts.origin !== this.#parts.origin || before.#current === undefined) return
    this.#serve(before.#current)
    for (const [index, changes] of before.#changes) this.#changes.set(index, changes)
  }

  /** Adds an entry if something else is served than the newest one has, or if that is old, and writes the folder. */
  async publish(folder: string | undefined, signal: AbortSignal): Promise<ChannelEnd> {
    return this.#queue.next(async () => this.#publish(folder, signal), signal)
  }

  /** The entries whose objects must stay: the newest one, the served one, and of the last few those after this time. */
  async keptSince(since: Date): Promise<readonly ChannelEntry[]> {
    const log = await this.#openLog()
    const entries = log.since(Math.max(log.size - MOST_KEPT, 0))
    const served = log.at(((this.#current ?? (await this.#head.last(log)))?.size ?? 0) - 1)
    const kept = entries.filter(({ at }, index) => index === entries.length - 1 || Date.parse(at) >= since.getTime())
    return served === undefined ? kept : [served, ...kept]
  }

  /**
   * Returns the bytes at a path of the channel as it is now; `undefined` if there is nothing. Of the objects only those
   * of the newest entry: what is out of service cannot be fetched.
   */
  async read(path: string): Promise<Uint8Array | undefined> {
    const current = this.#current
    if (current === undefined) return undefined
    if (path === CHECKPOINT_PATH) return Buffer.from(current.note)
    const asked = readChannelPath(path)
    switch (asked?.kind) {
      case 'object':
        return current.named.has(asked.digest) ? this.#parts.store.objects.get(asked.digest) : undefined
      case 'files':
        return current.lists.has(asked.digest) ? this.#packedLists.pack(asked.digest) : undefined
      case 'changes':
        return asked.index < current.size ? this.#changes.get(asked.index)?.bytes : undefined
      case 'tile':
        return current.log.hasTile(asked.tile, current.size) ? current.log.tile(asked.tile) : undefined
      case 'entries':
        return current.log.hasTile(asked.tile, current.size) ? current.log.entries(asked.tile) : undefined
      case undefined:
        return undefined
      default:
        return asked satisfies never
    }
  }

  /** False until the first publication of this process. */
  get isReady(): boolean {
    return this.#current !== undefined
  }

  /** Reports the present checkpoint, if there is one, and each later one until the returned value is disposed. */
  watch(watcher: CheckpointWatcher): Disposable {
    this.#watchers.add(watcher)
    if (this.#current !== undefined) watcher.onCheckpoint(this.#current.note)
    if (this.#isEnded) watcher.onEnd()
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }

  /** Ends the watches: another publisher goes on. */
  end(): void {
    this.#isEnded = true
    for (const { onEnd } of this.#watchers) onEnd()
  }

  async #publish(folder: string | undefined, signal: AbortSignal): Promise<ChannelEnd> {
    const { store, origin, signers } = this.#parts
    const keys = await signers()
    using _lease = store.objects.lease()
    const log = await this.#openLog()
    const before = await this.#publishedSize(log)
    const served = this.#parts.catalog()
    const { kept, entry } = await this.#append(log, served, signal)
    // A collection that began without the new entry ends while the lease still protects its objects.
    await store.generations.exclusively(async () => {})
    const note = await this.#cosigned(log, keys, signal)
    this.#serve({ ...kept, log, note, size: log.size })
    const end = { entries: log.size, at: entry.at, catalog: served, isNew: log.size > before }
    if (folder === undefined) return { ...end, objects: 0 }
    const changes = this.#changes.get(log.size - 1)?.bytes
    const channel = { log, origin, checkpoint: note, kept, changes }
    const written = this.#folderAt(folder)
    const { objects, size } = await written.publish(channel, signal)
    const isDue = size > 0 && Math.floor(size / SWEPT_ENTRIES) !== Math.floor(log.size / SWEPT_ENTRIES)
    if (isDue) await this.#sweep(written, kept, signal)
    return { ...end, objects }
  }

  /** An entry that waited for its witnesses is new when it is served. */
  async #publishedSize(log: ChannelLog): Promise<number> {
    if (this.#current !== undefined) return this.#current.size
    return this.#head.isNeeded ? ((await this.#head.last(log))?.size ?? 0) : log.size
  }

  /** Until there are enough cosignatures, the head that was served before stays, also after a restart. */
  async #cosigned(log: ChannelLog, keys: readonly NoteSigner[], signal: AbortSignal): Promise<string> {
    try {
      return await this.#head.cosigned(log, keys, signal)
    } catch (error) {
      if (error instanceof SyncError && this.#current === undefined) await this.#serveLast(log, signal)
      throw error
    }
  }

  async #serveLast(log: ChannelLog, signal: AbortSignal): Promise<void> {
    const last = await this.#head.last(log)
    const entry = last && log.at(last.size - 1)
    const kept = entry && (await keptAt(entry.head, this.#parts.store.objects, signal))
    if (last !== undefined && kept !== undefined) this.#serve({ ...kept, log, note: last.note, size: last.size })
  }

  #serve(next: Current): void {
    const isNews = this.#current?.note !== next.note
    this.#current = next
    this.#packedLists.keep(next.lists)
    if (isNews) for (const { onCheckpoint } of this.#watchers) onCheckpoint(next.note)
  }

  /** Removes what only entries name that followers do not ask for any more. */
  async #sweep(folder: FolderChannel, { named }: KeptChannel, signal: AbortSignal): Promise<void> {
    const log = await this.#openLog()
    const heads = log.since(Math.max(log.size - MOST_KEPT, 0)).map(({ head }) => head)
    const kept = await objectsOf(heads, this.#parts.store.objects, signal)
    await folder.sweep(kept.union(named), log.size - MOST_KEPT, signal)
  }

  /** Appends an entry for what is served now, if it is needed. */
  async #append(
    log: ChannelLog,
    served: Catalog,
    signal: AbortSignal,
  ): Promise<{ readonly kept: KeptChannel; readonly entry: ChannelEntry }> {
    const { store, clock, pack } = this.#parts
    const seen = pack === undefined ? served : await stepByStep(packingCatalog(served, [pack]))
    const disabled = new Map(seen.sources.map(([id, ...paths]) => [id, new Set<string>(paths)]))
    const { newest } = log
    const kept = await this.#contents.keep(seen.snapshots, disabled, await this.#earlierSources(newest), signal)
    const now = clock.now()
    const ageMs = newest === undefined ? Number.NaN : now.getTime() - Date.parse(newest.at)
    // An entry of the future, from before the clock was set, would count as fresh until then.
    const isFresh = ageMs >= 0 && ageMs < HEARTBEAT_MS
    await this.#expectStored(kept)
    if (newest !== undefined && newest.head === kept.head && isFresh) return { kept, entry: newest }
    const entry = { at: now.toISOString(), head: kept.head }
    const packed = await this.#packObjects(newest, kept)
    await store.folder.expectRight()
    signal.throwIfAborted()
    await this.#appendTo(log, entry)
    if (packed !== undefined) this.#changes.set(log.size - 1, packed)
    for (const [index, { digests }] of this.#changes)
      if (index < log.size - MOST_CHANGES || !digests.every((digest) => kept.named.has(digest)))
        this.#changes.delete(index)
    return { kept, entry }
  }

  /** The lease covers what is looked up: a file of a generation that is collected meanwhile stays. */
  async #expectStored({ named }: KeptChannel): Promise<void> {
    const known = this.#current?.named
    const fresh = known === undefined ? named : [...named].filter((digest) => !known.has(digest))
    const [missing] = await this.#parts.store.objects.missing(fresh)
    if (missing !== undefined)
      throw new SyncError('store-failed', `Cannot publish: the store lacks the object ${missing}`)
  }

  /** A commit that changes nothing of a pack must not show in its channel. */
  async #earlierSources(newest: ChannelEntry | undefined): Promise<readonly PublishedSource[]> {
    const { pack, store } = this.#parts
    if (pack === undefined || newest === undefined) return []
    return (await publishedSourcesIn(newest.head, store.objects).catch(undefinedIfDamaged)) ?? []
  }

  /** After a failure the file may have more than is known here: it is read anew. */
  async #appendTo(log: ChannelLog, entry: ChannelEntry): Promise<void> {
    try {
      await log.append(entry)
    } catch (error) {
      this.#log = undefined
      throw error
    }
  }

  /** Packs the objects that the entry before does not name; `undefined` if they are too large, or it is not known. */
  async #packObjects(newest: ChannelEntry | undefined, kept: KeptChannel): Promise<PackedChanges | undefined> {
    const earlier = this.#current
    if (earlier === undefined || earlier.head !== newest?.head) return undefined
    const digests = [...kept.named].filter((digest) => !earlier.named.has(digest))
    const added: Uint8Array[] = []
    let bytes = 0
    for (const digest of digests) {
      const object = await expectObject(this.#parts.store.objects, digest)
      bytes += object.length + 4
      if (bytes > MOST_PACKED_BYTES) return undefined
      added.push(object)
    }
    return { digests, bytes: await packObjects(added) }
  }

  /** An unreadable log is read anew at the next attempt. */
  async #openLog(): Promise<ChannelLog> {
    const opening = this.#log ?? this.#readLog()
    this.#log = opening
    try {
      return await opening
    } catch (error) {
      this.#log = undefined
      throw error
    }
  }

  /** Reads the log, which must continue the one that this process has signed before. */
  async #readLog(): Promise<ChannelLog> {
    const { store, pack } = this.#parts
    const path = store.folder.at('logs', logFileOf(pack?.id))
    const log = await ChannelLog.open(path)
    const signed = this.#current?.log
    if (signed === undefined || (await log.continues(signed))) return log
    const message = `Cannot use the log "${path}": it lacks entries that were published from it; restore it from a backup`
    throw new SyncError('store-failed', message)
  }

  #folderAt(path: string): FolderChannel {
    const known = this.#folders.get(path) ?? new FolderChannel(path, this.#parts.store.objects)
    this.#folders.set(path, known)
    return known
  }
}

/** The age of the newest entry after which another one shows that the hub is still there, with the same content. */
export const HEARTBEAT_MS = 12 * 3_600_000

/** A follower that reads an entry before these goes on with a newer one. */
const MOST_KEPT = 64

/** A folder is swept after so many entries. */
const SWEPT_ENTRIES = 64

/** The entries whose packed changes are kept: as many as a follower takes at once. */
const MOST_CHANGES = 8

/** The name of the file with the log of everything, or of a pack. */
export function logFileOf(pack: string | undefined): string {
  return `${logName(pack)}.jsonl`
}

/** The name of the file with the newest checkpoint of that log that enough witnesses have cosigned. */
export function checkpointFileOf(pack: string | undefined): string {
  return `${logName(pack)}.checkpoint`
}

/** The name of the files of the log. No id of a pack has a dot. */
function logName(pack: string | undefined): string {
  return pack === undefined ? 'channel' : `channel.${pack}`
}
