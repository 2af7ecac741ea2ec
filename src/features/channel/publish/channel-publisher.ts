import { runInSlices } from '../../../base/async/cooperative.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { checkpointFileOf, logFileOf } from '../../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../../daemon/config/channel-names.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { packingCatalog } from '../../../sync/catalog/catalog-packs.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { packedIn } from '../../../sync/catalog/pack.ts'
import type { Pack } from '../../../sync/catalog/pack.ts'
import type { PublishedRecall } from '../../../sync/model/decisions/published-recall.ts'
import { publishedRecalls } from '../../../sync/model/decisions/recalled-skills.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import { SyncError, undefinedIfDamaged } from '../../../sync/model/sync-error.ts'
import type { LogNames } from '../../../sync/postgres/shared-logs.ts'
import type { ChannelEntry } from '../../../sync/store/channel-entry.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import type { NoteSigner } from '../../../sync/transparency-log/signed-note.ts'
import type { ChannelObject, CheckpointWatcher } from '../channel-routes.ts'
import { ChannelContents, keptAt } from '../content/channel-contents.ts'
import type { KeptChannel } from '../content/channel-contents.ts'
import { ChannelLog } from '../content/channel-log.ts'
import type { PublishedSource } from '../content/channel-schema.ts'
import { objectsOf, publishedSourcesIn } from '../content/channel-tree.ts'
import { FolderChannel } from '../content/folder-channel.ts'
import { recallsInForce } from '../content/walk-channel.ts'
import { CatchUp } from './catch-up.ts'
import { CosignedHead } from './cosigned-head.ts'
import type { Quorum } from './cosigned-head.ts'
import { ServedChannel } from './served-channel.ts'
import { publishes, SharedChannel } from './shared-channel.ts'

/** The parts of the publisher of one channel. */
export interface ChannelPublisherParts extends DaemonContext {
  readonly channel: ChannelName
  /** The name of its log. */
  readonly origin: string
  readonly signers: () => Promise<readonly NoteSigner[]>
  readonly quorum: Quorum
  /** The pack that it has; `undefined` for all of its catalog. */
  readonly pack: Pack | undefined
  readonly catalog: () => Catalog
  /** Called with the recalls in force that so many entries of the log have, once they are served. */
  readonly onRecalls?: (recalls: readonly string[], size: number) => void
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

interface AppendedContent {
  readonly kept: KeptChannel
  readonly entry: ChannelEntry
  /** The ids of the recalls in force that it has. */
  readonly recalls: readonly string[]
}

/** Finds the content of a channel; `undefined` if it is not whole. */
type FindKept = (head: Digest) => Promise<KeptChannel | undefined>

/**
 * Publishes one channel: an entry of its log for each content that is served, the folders with it, and the files of it
 * that clients ask for. One publication runs at a time.
 */
export class ChannelPublisher {
  readonly #parts: ChannelPublisherParts
  readonly #contents: ChannelContents
  readonly #head: CosignedHead
  readonly #served: ServedChannel
  /** `undefined` if this process is the only one of the hub. */
  readonly #shared: SharedChannel | undefined
  readonly #catchUp: CatchUp
  readonly #queue = new SerialQueue()
  readonly #folders = new Map<string, FolderChannel>()
  #log: Promise<ChannelLog> | undefined
  /** The head whose objects the database has. */
  #stored: Digest | undefined

  constructor(parts: ChannelPublisherParts) {
    this.#parts = parts
    this.#contents = new ChannelContents(parts.store.objects)
    const { store, origin, quorum, log, channel, clock, shared, replica } = parts
    const { objects, folder } = store
    const file = checkpointFileOf(channel)
    this.#head = new CosignedHead({ folder, file, origin, quorum, log, shared })
    this.#served = new ServedChannel({ clock, objects, isShared: shared !== undefined })
    this.#shared = shared && new SharedChannel({ shared, origin, objects, ...(replica && { replica }) })
    const follow = async (onBegin: () => void, signal: AbortSignal): Promise<unknown> =>
      this.#queue.next(async () => {
        onBegin()
        return this.#follow(signal)
      }, signal)
    this.#catchUp = new CatchUp({ clock, follow, signal: this.#served.over })
  }

  /**
   * Serves what the publisher of the earlier configuration has served of the same log, until there is something newer: a
   * reload stops no follower.
   */
  takeOver(before: ChannelPublisher): void {
    if (before.#parts.origin === this.#parts.origin) this.#served.takeOver(before.#served)
  }

  /** Adds an entry if something else is served than the newest one has, or if that is old, and writes the folder. */
  async publish(folder: string | undefined, signal: AbortSignal): Promise<ChannelEnd> {
    return this.#queue.next(async () => this.#publish(folder, signal), signal)
  }

  /** True if this process appends to the log; of several that share one, the leader alone does. */
  get leads(): boolean {
    return publishes(this.#parts)
  }

  /** The catalog that is to be published. */
  get catalog(): Catalog {
    return this.#parts.catalog()
  }

  /** The log and the document of its witnesses, as the database names them. */
  get names(): LogNames {
    return { log: this.#parts.origin, document: this.#head.document }
  }

  /**
   * Takes over what the leader of the hub has appended, and serves it. Returns `undefined` if nothing is published yet.
   * Throws a `SyncError` if that fails; what was served is served on.
   */
  async follow(signal: AbortSignal): Promise<ChannelEnd | undefined> {
    return this.#queue.next(async () => this.#follow(signal), signal)
  }

  /**
   * Resolves with true when the channel has so many entries, or all that the database has; with false if neither was
   * possible soon. So a follower that has seen more at another process of the hub is not given an older state.
   */
  async reaches(size: number): Promise<boolean> {
    if (this.#shared === undefined || size <= this.#served.size) return true
    return (await this.#catchUp.caughtUp()) || size <= this.#served.size
  }

  /** The entries whose objects must stay: the newest one, the served one, and of the last few those after this time. */
  async keptSince(since: Date): Promise<readonly ChannelEntry[]> {
    const log = await this.#openLog()
    const entries = log.since(Math.max(log.size - MOST_KEPT, 0))
    const served = log.at(((this.#served.current ?? (await this.#head.last(log)))?.size ?? 0) - 1)
    const kept = entries.filter(({ at }, index) => index === entries.length - 1 || Date.parse(at) >= since.getTime())
    return served === undefined ? kept : [served, ...kept]
  }

  /** Returns the bytes at a path of the channel as it is now; `undefined` if there is nothing. */
  async read(path: string): Promise<Uint8Array | undefined> {
    return this.#caughtUp(path, async () => this.#served.read(path))
  }

  /** Returns the object at a path, without its bytes; `undefined` if there is none, or another file. */
  async objectAt(path: string): Promise<ChannelObject | undefined> {
    return this.#caughtUp(path, async () => this.#served.objectAt(path))
  }

  async #caughtUp<Found>(path: string, find: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = await find()
    if (found !== undefined || this.#shared === undefined || !this.#served.isBeyond(path)) return found
    // Another process of the hub may serve a newer entry already.
    await this.#catchUp.caughtUp()
    return find()
  }

  /** False until the first publication of this process. */
  get isReady(): boolean {
    return this.#served.current !== undefined
  }

  /** Reports the present checkpoint, if there is one, and each later one until the returned value is disposed. */
  watch(watcher: CheckpointWatcher): Disposable {
    return this.#served.watch(watcher)
  }

  /** Ends the watches: another publisher goes on. */
  end(): void {
    this.#served.end()
  }

  async #publish(folder: string | undefined, signal: AbortSignal): Promise<ChannelEnd> {
    const { store, origin, signers } = this.#parts
    const keys = await signers()
    using _lease = store.objects.lease()
    const log = await this.#openLog()
    await this.#takeShared(log, keys, signal)
    const before = await this.#publishedSize(log)
    const served = this.#parts.catalog()
    const { kept, entry, recalls } = await this.#append(log, served, signal)
    const note = await this.#cosigned(log, keys, signal)
    this.#served.serve({ ...kept, log, note, size: log.size })
    this.#parts.onRecalls?.(recalls, log.size)
    const end = { entries: log.size, at: entry.at, catalog: served, isNew: log.size > before }
    if (folder === undefined) return { ...end, objects: 0 }
    const changes = this.#served.changesAt(log.size - 1)
    const channel = { log, origin, checkpoint: note, kept, changes }
    const written = this.#folderAt(folder)
    const { objects, size } = await written.publish(channel, signal)
    const isDue = size > 0 && Math.floor(size / SWEPT_ENTRIES) !== Math.floor(log.size / SWEPT_ENTRIES)
    if (isDue) await this.#sweep(written, kept, signal)
    return { ...end, objects }
  }

  async #follow(signal: AbortSignal): Promise<ChannelEnd | undefined> {
    const { store, signers, catalog } = this.#parts
    const served = catalog()
    const keys = await signers()
    using _lease = store.objects.lease()
    const log = await this.#openLog()
    await this.#takeShared(log, keys, signal)
    await this.#serveLast(log, keys, async (head) => this.#shared?.bring(head, signal))
    // A collection that began without the new entry ends while the lease still protects its objects.
    await store.generations.exclusively(async () => {})
    const { size } = this.#served
    const entry = log.at(size - 1)
    return entry && { entries: size, at: entry.at, catalog: served, isNew: false, objects: 0 }
  }

  /** Brings the log to the state of the database. If that cannot be read after a start, the state before is served. */
  async #takeShared(log: ChannelLog, keys: readonly NoteSigner[], signal: AbortSignal): Promise<void> {
    const shared = this.#shared
    if (shared === undefined) return
    const failure = await this.#undoable(async () => shared.take(log))
    if (failure !== undefined) {
      if (this.#served.current === undefined) await this.#serveLast(log, keys, this.#keptIn(signal))
      throw failure
    }
    await this.#head.take()
  }

  /** An entry that waited for its witnesses is new when it is served. */
  async #publishedSize(log: ChannelLog): Promise<number> {
    if (this.#served.current !== undefined) return this.#served.size
    return this.#head.isNeeded ? ((await this.#head.last(log))?.size ?? 0) : log.size
  }

  /** Until there are enough cosignatures, the head that was served before stays, also after a restart. */
  async #cosigned(log: ChannelLog, keys: readonly NoteSigner[], signal: AbortSignal): Promise<string> {
    try {
      return await this.#head.cosigned(log, keys, signal)
    } catch (error) {
      if (error instanceof SyncError && this.#served.current === undefined)
        await this.#serveLast(log, keys, this.#keptIn(signal))
      throw error
    }
  }

  /** Serves the newest entry that needs no request to a witness, if its objects are found. */
  async #serveLast(log: ChannelLog, keys: readonly NoteSigner[], find: FindKept): Promise<void> {
    const { origin } = this.#parts
    const { isNeeded } = this.#head
    const last = isNeeded ? await this.#head.last(log) : { size: log.size, note: await log.checkpoint(origin, keys) }
    const entry = last && log.at(last.size - 1)
    const { current } = this.#served
    if (last === undefined || entry === undefined || last.size < this.#served.size) return
    const kept = current?.head === entry.head ? current : await find(entry.head)
    if (kept === undefined) return
    if (current !== undefined && last.size === current.size + 1)
      this.#served.keepChanges(current.size, await this.#served.pack(log.at(current.size - 1), kept), kept)
    this.#served.serve({ ...kept, log, note: last.note, size: last.size })
    // Another process has published it, or this one before its start.
    const { onRecalls, store } = this.#parts
    onRecalls?.(await recallsInForce(entry.head, (digests) => store.objects.each(digests)), last.size)
  }

  #keptIn(signal: AbortSignal): FindKept {
    return async (head) => keptAt(head, this.#parts.store.objects, signal)
  }

  /** Removes what only entries name that followers do not ask for any more. */
  async #sweep(folder: FolderChannel, { named }: KeptChannel, signal: AbortSignal): Promise<void> {
    const log = await this.#openLog()
    const heads = log.since(Math.max(log.size - MOST_KEPT, 0)).map(({ head }) => head)
    const kept = await objectsOf(heads, this.#parts.store.objects, signal)
    await folder.sweep(kept.union(named), log.size - MOST_KEPT, signal)
  }

  /** Appends an entry for what is served now, if it is needed. */
  async #append(log: ChannelLog, served: Catalog, signal: AbortSignal): Promise<AppendedContent> {
    const { store, clock, pack } = this.#parts
    const seen = pack === undefined ? served : await runInSlices(packingCatalog(served, [pack]))
    const disabled = new Map(seen.sources.map(([id, ...paths]) => [id, new Set<string>(paths)]))
    const { newest } = log
    // Without the objects of the entry before, the new one would have them all as new.
    if (newest !== undefined && newest.head !== this.#served.current?.head)
      await this.#shared?.bring(newest.head, signal).catch(undefinedIfDamaged)
    const earlier = await this.#earlierSources(newest)
    const published = this.#recallsFor(served)
    const recalls = published.filter(({ revoked }) => revoked === undefined).map(({ id }) => id)
    const kept = await this.#contents.keep({ snapshots: seen.snapshots, disabled, earlier, recalls: published }, signal)
    const now = clock.now()
    const ageMs = newest === undefined ? Number.NaN : now.getTime() - Date.parse(newest.at)
    // An entry of the future, from before the clock was set, would count as fresh until then.
    const isFresh = ageMs >= 0 && ageMs < HEARTBEAT_MS
    await this.#expectStored(kept)
    // A collection that began without the new entry ends while leases still protect its objects.
    const collected = async (): Promise<void> => store.generations.exclusively(async () => {})
    if (newest !== undefined && newest.head === kept.head && isFresh) {
      await this.#whileStored(kept, collected)
      return { kept, entry: newest, recalls }
    }
    const entry = { at: now.toISOString(), head: kept.head }
    const packed = await this.#served.pack(newest, kept)
    await store.folder.expectRight()
    signal.throwIfAborted()
    const shared = this.#shared
    await this.#whileStored(kept, async () => {
      await this.#undoable(async () => (shared === undefined ? log.append(entry) : shared.append(log, entry)))
      await collected()
    })
    this.#served.keepChanges(log.size - 1, packed, kept)
    return { kept, entry, recalls }
  }

  /** The readers of a pack get the places and the reason of a recall only with a skill of the pack. */
  #recallsFor({ snapshots }: Catalog): readonly PublishedRecall[] {
    const { store, origin, pack } = this.#parts
    const { outOfService } = store.decisions
    if (pack === undefined) return publishedRecalls(outOfService, origin)
    const inPack = new Map(snapshots.map((snapshot) => [snapshot.source, pathsOf(packedIn(snapshot, pack))]))
    return publishedRecalls(outOfService, origin, ({ source, path }) => inPack.get(source)?.has(path) === true)
  }

  /** Works once the other processes of the hub can have the objects. */
  async #whileStored({ head, named }: KeptChannel, work: () => Promise<void>): Promise<void> {
    if (this.#shared === undefined || this.#stored === head) return work()
    const { current } = this.#served
    const fresh = current !== undefined && this.#stored === current.head ? named.difference(current.named) : named
    await this.#shared.whileStored(fresh, work)
    this.#stored = head
  }

  /** The lease covers what is looked up: a file of a generation that is collected meanwhile stays. */
  async #expectStored({ named }: KeptChannel): Promise<void> {
    const known = this.#served.current?.named
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
  async #undoable<Done>(append: () => Promise<Done>): Promise<Done> {
    try {
      return await append()
    } catch (error) {
      this.#log = undefined
      throw error
    }
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
    const { store, channel } = this.#parts
    const path = store.folder.at('logs', logFileOf(channel))
    const log = await ChannelLog.open(path)
    const signed = this.#served.current?.log
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

function pathsOf(skills: ReadonlySet<Skill>): ReadonlySet<string> {
  return new Set([...skills].map(({ path }) => path))
}

/** The age of the newest entry after which another one shows that the hub is still there, with the same content. */
export const HEARTBEAT_MS = 12 * 3_600_000

/** A follower that reads an entry before these goes on with a newer one. */
const MOST_KEPT = 64

/** A folder is swept after so many entries. */
const SWEPT_ENTRIES = 64
