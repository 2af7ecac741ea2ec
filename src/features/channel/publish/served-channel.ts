import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import type { ChannelEntry } from '../../../sync/store/channel-entry.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import type { ChannelObject, CheckpointWatcher } from '../channel-routes.ts'
import type { KeptChannel } from '../content/channel-contents.ts'
import { CHECKPOINT_PATH, readChannelPath } from '../content/channel-entry.ts'
import type { ChannelLog } from '../content/channel-log.ts'
import { expectObject } from '../content/channel-tree.ts'
import { PackedLists } from '../content/packed-lists.ts'
import { MOST_PACKED_BYTES, packObjects } from '../content/packed-objects.ts'

/** A channel with an entry for what is served. */
export interface CurrentChannel extends KeptChannel {
  readonly log: ChannelLog
  /** The signed head of the log, with the cosignatures of its witnesses, and its size. The log may have more entries. */
  readonly note: string
  readonly size: number
}

/** The objects that are new with an entry. They are served as long as the newest entry names all of them. */
interface PackedChanges {
  readonly digests: readonly Digest[]
  readonly bytes: Uint8Array
}

/** The parts of a `ServedChannel`. */
export interface ServedChannelParts extends Pick<DaemonContext, 'clock'> {
  readonly objects: ObjectStore
  /** True if other processes of the hub serve this channel as well. */
  readonly isShared: boolean
}

/** The state of a channel that clients are given, and the clients that wait for the next one. */
export class ServedChannel {
  readonly #parts: ServedChannelParts
  readonly #packedLists: PackedLists
  readonly #watchers = new Set<CheckpointWatcher>()
  readonly #over = new AbortController()
  #current: CurrentChannel | undefined
  /** The packed changes of the last entries that this process has served, by their indexes. */
  readonly #changes = new Map<number, PackedChanges>()

  constructor(parts: ServedChannelParts) {
    this.#parts = parts
    this.#packedLists = new PackedLists(parts.objects)
  }

  get current(): CurrentChannel | undefined {
    return this.#current
  }

  /** The number of entries that are served. */
  get size(): number {
    return this.#current?.size ?? 0
  }

  /** Aborted once another one goes on. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Serves what the earlier one has served. */
  takeOver(before: ServedChannel): void {
    if (before.#current === undefined) return
    this.serve(before.#current)
    for (const [index, changes] of before.#changes) this.#changes.set(index, changes)
  }

  /** Serves this state from now on. */
  serve(next: CurrentChannel): void {
    const before = this.#current
    this.#current = next
    this.#packedLists.keep(next.lists)
    if (before?.note === next.note) return
    this.#notify()
    // A follower that is notified at once may ask a process of the hub that has not taken the entry over yet.
    if (this.#parts.isShared && before !== undefined)
      void this.#parts.clock.wait(AGAIN_MS, this.over).then(() => this.#notify(), ignoreAbort)
  }

  /**
   * Returns the bytes at a path of the channel as it is now; `undefined` if there is nothing. Of the objects only those
   * of the served entry: what is out of service cannot be fetched.
   */
  async read(path: string): Promise<Uint8Array | undefined> {
    const current = this.#current
    if (current === undefined) return undefined
    if (path === CHECKPOINT_PATH) return Buffer.from(current.note)
    const asked = readChannelPath(path)
    switch (asked?.kind) {
      case 'object':
        return current.named.has(asked.digest) ? this.#parts.objects.get(asked.digest) : undefined
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

  /** Returns the size and the digest of the object at a path, from its row alone; `undefined` for all other paths. */
  async objectAt(path: string): Promise<ChannelObject | undefined> {
    const asked = readChannelPath(path)
    if (asked?.kind !== 'object' || this.#current?.named.has(asked.digest) !== true) return undefined
    const size = await this.#parts.objects.sizeOf(asked.digest)
    return size === undefined ? undefined : { size, sha256: asked.digest }
  }

  /** True if the served state does not have the path, and a later one may. */
  isBeyond(path: string): boolean {
    const current = this.#current
    const asked = readChannelPath(path)
    if (current === undefined || asked === undefined) return false
    switch (asked.kind) {
      case 'object':
        return !current.named.has(asked.digest)
      case 'files':
        return !current.lists.has(asked.digest)
      case 'changes':
        return asked.index >= current.size
      case 'tile':
      case 'entries':
        return !current.log.hasTile(asked.tile, current.size)
      default:
        return asked satisfies never
    }
  }

  /** Reports the present checkpoint, if there is one, and each later one until the returned value is disposed. */
  watch(watcher: CheckpointWatcher): Disposable {
    this.#watchers.add(watcher)
    if (this.#current !== undefined) watcher.onCheckpoint(this.#current.note)
    if (this.over.aborted) watcher.onEnd()
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }

  /** Ends the watches. */
  end(): void {
    this.#over.abort()
    for (const { onEnd } of this.#watchers) onEnd()
  }

  /**
   * Packs the objects that the entry before does not name; `undefined` if they are too large, or if that entry is not the
   * served one.
   */
  async pack(before: ChannelEntry | undefined, kept: KeptChannel): Promise<PackedChanges | undefined> {
    const earlier = this.#current
    if (earlier === undefined || earlier.head !== before?.head) return undefined
    const digests = [...kept.named].filter((digest) => !earlier.named.has(digest))
    const added: Uint8Array[] = []
    let bytes = 0
    for (const digest of digests) {
      const object = await expectObject(this.#parts.objects, digest)
      bytes += object.length + 4
      if (bytes > MOST_PACKED_BYTES) return undefined
      added.push(object)
    }
    return { digests, bytes: await packObjects(added) }
  }

  /** Keeps what is new with the entry at this index, and drops what has become old with it. */
  keepChanges(index: number, packed: PackedChanges | undefined, { named }: KeptChannel): void {
    if (packed !== undefined) this.#changes.set(index, packed)
    for (const [other, { digests }] of this.#changes)
      if (other <= index - MOST_CHANGES || !digests.every((digest) => named.has(digest))) this.#changes.delete(other)
  }

  /** The bytes of what is new with the entry at this index, if they are kept. */
  changesAt(index: number): Uint8Array | undefined {
    return this.#changes.get(index)?.bytes
  }

  #notify(): void {
    const note = this.#current?.note
    if (note !== undefined) for (const { onCheckpoint } of this.#watchers) onCheckpoint(note)
  }
}

/** The entries whose packed changes are kept: as many as a follower takes at once. */
const MOST_CHANGES = 8

/** The time that each process of a hub has to take an entry over. */
const AGAIN_MS = 3_000
