import { randomBytes } from 'node:crypto'
import { inParallel } from '../src/base/async/parallel.ts'
import { reportText } from '../src/features/channel/content/follower-report.ts'
import { recallsAt, recallsOf, walkChannel } from '../src/features/channel/content/walk-channel.ts'
import { ChannelObjects } from '../src/features/channel/follow/channel-objects.ts'
import type { FetchedObjects } from '../src/features/channel/follow/channel-objects.ts'
import type { ChannelPlace } from '../src/features/channel/follow/channel-place.ts'
import type { ChannelPart } from '../src/sync/model/snapshot.ts'
import { parseEntry } from '../src/sync/store/channel-entry.ts'
import { sha256Of } from '../src/sync/store/objects/object-rows.ts'
import type { Digest } from '../src/sync/store/objects/object-store.ts'
import { openCheckpoint } from '../src/sync/transparency-log/checkpoint.ts'
import { followLog } from '../src/sync/transparency-log/follow-log.ts'
import type { LogReader } from '../src/sync/transparency-log/follow-log.ts'
import { EMPTY_EDGE, rootAt } from '../src/sync/transparency-log/log-edge.ts'
import type { LogEdge } from '../src/sync/transparency-log/log-edge.ts'
import { isSameHash } from '../src/sync/transparency-log/merkle-tree.ts'
import type { NoteVerifier } from '../src/sync/transparency-log/signed-note.ts'
import { entriesPath, tilePath } from '../src/sync/transparency-log/tiles.ts'

// A follower without a disk, a catalog and a process of its own, so that one process has a thousand. Each verifies all that
// it gets: the signature, the log, and each object. Only the parsing of an object, which has a digest, is done once for all.

/** A channel, and what the followers of one process share: the bytes of objects, and what a head names. */
export class FollowedChannel {
  readonly key: NoteVerifier
  readonly bytes = new Map<Digest, Uint8Array>()
  readonly #plans = new Map<string, Promise<Plan>>()

  constructor(key: NoteVerifier) {
    this.key = key
  }

  /** Returns what a follower that has `from` reads for `head`. The first one to ask reads it. */
  async planOf(
    from: Digest | undefined,
    head: Digest,
    read: (digests: readonly Digest[]) => AsyncIterable<Uint8Array>,
  ) {
    const key = `${from} ${head}`
    const plan = this.#plans.get(key) ?? this.#read(from, head, read)
    this.#plans.set(key, plan)
    return plan
  }

  async #read(
    from: Digest | undefined,
    head: Digest,
    read: (digests: readonly Digest[]) => AsyncIterable<Uint8Array>,
  ): Promise<Plan> {
    const known = (from === undefined ? undefined : this.#latest.get(from)) ?? new Map<string, number>()
    const levels: (readonly Digest[])[] = []
    const reading = (digests: readonly Digest[]): AsyncIterable<Uint8Array> => {
      levels.push(digests)
      return read(digests)
    }
    const keyOf = (hub: string, digest: Digest): string => `${hub} ${digest}`
    const limits = { skills: MOST_SKILLS }
    const sources = await walkChannel(head, reading, limits, (hub, digest) => known.get(keyOf(hub, digest)))
    const lists = new Map<string, number>()
    for (const { source, parts } of sources)
      for (const { digest, skills } of parts) {
        const key = keyOf(source, digest)
        lists.set(key, skills?.length ?? known.get(key) ?? 0)
      }
    this.#latest.set(head, lists)
    return { levels, parts: sources.flatMap(({ parts }) => parts) }
  }

  /** The sizes of the lists of skills that each head names: a follower that has it reads them no more. */
  readonly #latest = new Map<Digest, ReadonlyMap<string, number>>()
}

/** The objects that a follower reads, level by level, and the lists of skills whose files it needs. */
interface Plan {
  readonly levels: readonly (readonly Digest[])[]
  readonly parts: readonly ChannelPart[]
}

const MOST_SKILLS = 1_000_000
const MOST_BYTES = 2 ** 24
const PARTS_AT_ONCE = 4

/** The log and the objects of a follower. */
interface Followed {
  readonly edge: LogEdge
  readonly etag: string | undefined
  readonly head: Digest | undefined
  readonly held: ReadonlySet<Digest>
  readonly recalls: Recalls
}

/** The recalls that a follower obeys. */
interface Recalls {
  readonly list: Digest | undefined
  readonly inForce: number
}

const NOTHING: Followed = {
  edge: EMPTY_EDGE,
  etag: undefined,
  head: undefined,
  held: new Set(),
  recalls: { list: undefined, inForce: 0 },
}

/** Follows one channel as a real follower does, with the same requests. */
export class SimulatedFollower {
  readonly #channel: FollowedChannel
  readonly #place: ChannelPlace
  readonly #objects: HeldObjects
  readonly #id = randomBytes(16).toString('hex')
  #edge: LogEdge
  #etag: string | undefined
  #head: Digest | undefined
  #recalls: Recalls

  constructor(channel: FollowedChannel, place: ChannelPlace, followed: Followed = NOTHING) {
    this.#channel = channel
    this.#place = place
    this.#objects = new HeldObjects(channel.bytes, followed.held)
    this.#edge = followed.edge
    this.#etag = followed.etag
    this.#head = followed.head
    this.#recalls = followed.recalls
  }

  /** The state that another follower begins with, as if it had followed as far. */
  get followed(): Followed {
    return { edge: this.#edge, etag: this.#etag, head: this.#head, held: this.#objects.held, recalls: this.#recalls }
  }

  /** The number of entries of which all is verified and stored. */
  get size(): number {
    return this.#head === undefined ? 0 : this.#edge.size
  }

  /** The number of recalls that it obeys. */
  get recalls(): number {
    return this.#recalls.inForce
  }

  /** Throws if the channel, or an object of it, is not what was signed. */
  async pull(signal: AbortSignal): Promise<void> {
    const follower = this.size === 0 ? undefined : `${this.#id} ${this.size}`
    const served = await this.#place.checkpoint({ etag: this.#etag, follower }, signal)
    if (served.kind === 'unchanged') return
    const { key } = this.#channel
    const checkpoint = openCheckpoint(served.note, key.name, [key])
    const from = this.#edge.size
    if (checkpoint.size === from && isSameHash(checkpoint.root, rootAt(this.#edge))) {
      // Signed anew, such as with another key.
      this.#etag = served.etag
      return
    }
    const { edge, newest } = await followLog(this.#edge, checkpoint, this.#reader(signal))
    const head = parseEntry(newest)?.head
    if (head === undefined) throw new Error('The newest entry has the wrong form')
    await this.#take(head, { from, size: edge.size }, signal)
    this.#head = head
    this.#edge = edge
    this.#etag = served.etag
  }

  async #take(head: Digest, { from, size }: { from: number; size: number }, signal: AbortSignal): Promise<void> {
    const objects = new ChannelObjects(this.#place, this.#objects)
    await objects.fetchChanges(from, size, signal)
    const read = (digests: readonly Digest[]) => objects.read(digests, MOST_BYTES, signal)
    await this.#obey(await recallsOf(head, read), { size, read }, signal)
    const { levels, parts } = await this.#channel.planOf(this.#head, head, read)
    // Of the one that has made the plan, all of it is stored by now.
    for (const digests of levels) await this.#fetch(objects, digests, signal)
    const files = parts.flatMap(({ skills }) => skills?.flatMap((skill) => skill.files) ?? [])
    await inParallel(parts, PARTS_AT_ONCE, async (part) => objects.fetchFiles(part, signal), signal)
    await objects.fetch(
      files.map((file) => ({ digest: file.sha256, size: file.size, mostBytes: file.size })),
      signal,
    )
  }

  /** Reports to the hub if recalls are news, before it takes any content. */
  async #obey(
    list: Digest | undefined,
    { size, read }: { readonly size: number; readonly read: Parameters<typeof recallsAt>[1] },
    signal: AbortSignal,
  ): Promise<void> {
    if (list === undefined || list === this.#recalls.list) return
    const inForce = (await recallsAt(list, read)).filter(({ revoked }) => revoked === undefined).length
    this.#recalls = { list, inForce }
    await this.#place.report(reportText({ follower: this.#id, size, below: [] }), signal)
  }

  async #fetch(objects: ChannelObjects, digests: readonly Digest[], signal: AbortSignal): Promise<void> {
    await objects.fetch(
      digests.map((digest) => ({ digest, size: undefined, mostBytes: MOST_BYTES })),
      signal,
    )
  }

  #reader(signal: AbortSignal): LogReader {
    const expected = async (path: string): Promise<Uint8Array> => {
      const bytes = await this.#place.read(path, MOST_BYTES, signal)
      if (bytes === undefined) throw new Error(`The log has no ${path}`)
      return bytes
    }
    return {
      tile: async (tile) => expected(tilePath(tile)),
      entries: async (index, width) => expected(entriesPath({ index, width })),
    }
  }
}

/** The objects of one follower. Their bytes are in memory once for all followers; each has digested its own before. */
class HeldObjects implements FetchedObjects {
  readonly #bytes: Map<Digest, Uint8Array>
  readonly #before: ReadonlySet<Digest>
  readonly #own = new Set<Digest>()

  constructor(bytes: Map<Digest, Uint8Array>, before: ReadonlySet<Digest>) {
    this.#bytes = bytes
    this.#before = before
  }

  get held(): ReadonlySet<Digest> {
    return this.#before.union(this.#own)
  }

  async put(objects: Iterable<Uint8Array>): Promise<readonly Digest[]> {
    return Array.from(objects, (bytes) => {
      const digest = sha256Of(bytes)
      this.#own.add(digest)
      if (!this.#bytes.has(digest)) this.#bytes.set(digest, bytes)
      return digest
    })
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#has(digest) ? this.#bytes.get(digest) : undefined
  }

  async missing(digests: Iterable<Digest>): Promise<readonly Digest[]> {
    return [...digests].filter((digest) => !this.#has(digest))
  }

  #has(digest: Digest): boolean {
    return this.#own.has(digest) || this.#before.has(digest)
  }
}
