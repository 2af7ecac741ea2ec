import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { formatOf, isIdOf, type ObjectFormat, type ObjectId, type Revision } from '../../model/revision.ts'
import { isSystemError, SyncError, type SyncErrorCode } from '../../model/sync-error.ts'
import type { TakenBlob } from '../../model/tree.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import { treeOfCommit, type GitObject } from '../../upstream/objects/git-object.ts'
import { LIMIT_KEYS, namedLimit } from '../../upstream/upstream.ts'
import type { KnownTrees, Relation } from '../../upstream/upstream.ts'
import type { ObjectLocation, WorkerTask } from '../objects/git-transport.ts'
import { lackingTrees, outermost } from '../objects/known-trees.ts'
import {
  ABSENT,
  objectBytesOf,
  tooLarge,
  type KeepBlob,
  type LargeObject,
  type ObjectSource,
} from '../objects/object-source.ts'
import { LargeInPack, PackReader, type ObjectSink } from '../objects/pack-reader.ts'
import { GitHttp } from './git-http.ts'
import { ServerRefusedError } from './pkt-line.ts'
import { requestPack, type PackRequest } from './protocol.ts'
import { askRelation, type Allowance } from './remote-history.ts'

/**
 * The objects of a repository over http(s). One pack has the commit and its trees, and all blobs if the server cannot
 * filter. Then each batch of blobs has a pack. An update leaves out known trees.
 */
export class RemoteObjects implements ObjectSource {
  readonly #place: Extract<ObjectLocation, { kind: 'remote' }>
  readonly #task: WorkerTask
  readonly #allowance: Allowance
  #snapshot: PackReader | undefined
  /** Trees that the server left out of the snapshot, but that are needed. */
  #rest: PackReader | undefined
  #packs = 0
  #refusals = 0
  #stops = 0

  /** `onReceived` is called with the number of bytes of each piece of a pack that arrives. */
  constructor(
    place: Extract<ObjectLocation, { kind: 'remote' }>,
    task: WorkerTask,
    onReceived?: (bytes: number) => void,
  ) {
    const { packBytes, blobBytes, files } = task.limits
    const objectBytes = Math.max(blobBytes, objectBytesOf(task.limits))
    this.#place = place
    this.#task = task
    this.#allowance = {
      bytes: {
        limit: namedLimit('packBytes', task.limits),
        key: LIMIT_KEYS.packBytes,
        left: packBytes,
        ...(onReceived && { onReceived }),
      },
      // Each object of a snapshot is an entry of a tree, except the few that lead to the root. Twice that many are
      // allowed, because the entries of known trees are not counted.
      pack: { objects: 2 * files + 16, objectBytes },
    }
  }

  async open(revision: Revision, known: KnownTrees, way: HostAccess): Promise<void> {
    const { format, version } = this.#place.server
    if (formatOf(revision.commit) !== format) throw lacksFormat(revision.commit, this.#place.url, format)
    const { commit, tag } = revision
    // A server of version 1 may serve only what a ref points to, and sends the commit of a tag with it.
    const ids = version === 1 ? [tag ?? commit] : tag === undefined ? [commit] : [commit, tag]
    const wanted = { ids, depth: 1, filter: 'blob:none' } as const
    if (await this.#update(wanted, revision.commit, known, way)) return
    this.#snapshot = await this.#fetch(wanted, way).catch((cause: unknown) => {
      throw unlessNamed(cause, revision, this.#place.url)
    })
  }

  [Symbol.dispose](): void {
    this.#snapshot?.[Symbol.dispose]()
    this.#rest?.[Symbol.dispose]()
    this.#snapshot = undefined
    this.#rest = undefined
  }

  async read(id: ObjectId): Promise<GitObject | LargeObject | undefined> {
    const packs = [this.#snapshot, this.#rest].filter((pack) => pack !== undefined)
    for (const pack of packs) {
      const object = pack.read(id)
      if (object !== undefined) return object
    }
    const large = packs.find((pack) => pack.isTooLarge(id))
    return large && { type: 'too-large', size: large.sizeOfLarge(id) }
  }

  /**
   * Fetches what is not in the known trees, and known trees that have moved. Returns false if everything must be
   * fetched.
   */
  async #update(wanted: PackRequest, commit: ObjectId, known: KnownTrees, way: HostAccess): Promise<boolean> {
    // A server without filters would also leave out the files of known trees, and they could not be fetched later.
    const have = this.#place.server.filters ? outermost(known) : undefined
    if (have === undefined) return false
    try {
      const snapshot = await this.#fetch({ ...wanted, have }, way)
      this.#snapshot = snapshot
      const root = treeOfCommit(snapshot.read(commit)?.bytes ?? NOTHING)
      const ids = root && (await lackingTrees(root, known, this.#task.limits, (id) => snapshot.read(id)))
      if (ids !== undefined && ids.length <= MOST_LACKING) {
        if (ids.length > 0) this.#rest = await this.#fetch({ ids, filter: 'blob:none' }, way)
        return true
      }
    } catch (cause) {
      // However the server reacts to our `have`, the usual request still works.
      if (!(cause instanceof SyncError) || FINAL.has(cause.code)) throw cause
    }
    // This also clears the fields: a descriptor that is closed twice may belong to another file by then.
    this[Symbol.dispose]()
    return false
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob, way: HostAccess) {
    const taken = new Map<ObjectId, TakenBlob>()
    for (const id of blobs) {
      const object = this.#snapshot?.read(id)
      if (object?.type === 'blob') taken.set(id, keep(id, object.bytes))
      else if (this.#snapshot?.isTooLarge(id) === true) taken.set(id, tooLarge(this.#snapshot.sizeOfLarge(id)))
    }
    const { filters, format } = this.#place.server
    const missing = blobs.filter((id) => !taken.has(id) && isIdOf(format, id))
    if (filters) await this.#takeLot(missing, { keep, taken, way })
    return new Map(blobs.map((id) => [id, taken.get(id) ?? ABSENT]))
  }

  /**
   * Fetches a batch of blobs. If the server lacks one, it refuses the whole batch and names the blob; the rest is
   * requested again.
   */
  async #takeLot(lot: readonly ObjectId[], taking: Taking): Promise<void> {
    if (lot.length === 0) return
    const { keep, taken, way } = taking
    const wanted = new Set(lot)
    const found: ObjectSink = (id, { type, bytes }) => {
      if (type === 'blob' && wanted.has(id)) taken.set(id, keep(id, bytes))
    }
    try {
      using pack = await this.#fetch({ ids: lot }, way, found, this.#stopping())
      for (const id of lot) if (!taken.has(id) && pack.isTooLarge(id)) taken.set(id, tooLarge(pack.sizeOfLarge(id)))
    } catch (cause) {
      const left = lot.filter((id) => !taken.has(id))
      if (cause instanceof LargeInPack) return this.#takeAround(cause, left, taking)
      this.#refusals += 1
      const rest = cause instanceof ServerRefusedError ? left.filter((id) => !cause.said.includes(id)) : left
      // A server in trouble refuses too. Only a named id means that the blob is missing.
      if (rest.length === left.length || this.#refusals > MAX_REFUSALS) throw cause
      await this.#takeLot(rest, taking)
    }
  }

  /**
   * Finds the too large blob, because the header in a pack has no id. Servers usually send in request order, so it is
   * most likely the first missing blob. Otherwise the rest is requested in halves.
   */
  async #takeAround({ size }: LargeInPack, left: readonly ObjectId[], taking: Taking): Promise<void> {
    const [first, ...others] = left
    if (first === undefined) return
    if (others.length === 0) return void taking.taken.set(first, tooLarge(size))
    this.#stops += 1
    await this.#takeLot([first], taking)
    if (taking.taken.get(first)?.kind === 'refused') return this.#takeLot(others, taking)
    const middle = Math.ceil(others.length / 2)
    await this.#takeLot(others.slice(0, middle), taking)
    await this.#takeLot(others.slice(middle), taking)
  }

  /**
   * Returns the limits for a pack that aborts at a too large file. After too many aborts, packs are read to their end.
   */
  #stopping(): Allowance {
    const { bytes, pack } = this.#allowance
    return this.#stops > MAX_STOPS
      ? this.#allowance
      : { bytes, pack: { ...pack, stopBytes: this.#task.limits.blobBytes } }
  }

  async relation(from: ObjectId, to: ObjectId, way: HostAccess): Promise<Relation> {
    return askRelation(from, to, (wanted, found, allowance) => this.#fetch(wanted, way, found, allowance))
  }

  async #fetch(
    wanted: PackRequest,
    way: HostAccess,
    found?: ObjectSink,
    allowance = this.#allowance,
  ): Promise<PackReader> {
    const { server, url } = this.#place
    const { limits, scratch } = this.#task
    const http = new GitHttp(url, { limits, bytes: allowance.bytes, way, signal: NEVER })
    const file = join(scratch, `${(this.#packs += 1)}.pack`)
    try {
      const expected = { format: server.format, limits: allowance.pack }
      return await PackReader.receive(requestPack(http, server, wanted), file, expected, found)
    } finally {
      removeName(file)
    }
  }
}

/** Returns the error for a commit whose id has another format than those of the repository. */
export function lacksFormat(commit: ObjectId, url: string, format: ObjectFormat): SyncError {
  return new SyncError('ref-not-found', `Cannot fetch ${commit} of "${url}": its ids are ${format}`)
}

/** Converts the refusal of a server that names the commit or tag as missing. The wording differs per server. */
export function unlessNamed(cause: unknown, { commit, tag }: Pick<Revision, 'commit' | 'tag'>, url: string): unknown {
  const isNamed =
    cause instanceof ServerRefusedError && [commit, tag].some((id) => id !== undefined && cause.said.includes(id))
  if (!isNamed) return cause
  return new SyncError('ref-not-found', `Cannot fetch ${commit} of "${url}": the server says "${cause.said}"`, {
    cause,
  })
}

/**
 * Removes the name of the file, which the reader keeps open. A failure is ignored, so that it hides no other error: the
 * name goes with the scratch folder.
 */
function removeName(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch (error) {
    if (!isSystemError(error)) throw error
  }
}

/** The state of one `take`: the sink for blobs, and the results so far. */
interface Taking {
  readonly keep: KeepBlob
  readonly taken: Map<ObjectId, TakenBlob>
  readonly way: HostAccess
}

/** Maximum trees in one request. If more have moved, all trees of the commit are fetched. */
const MOST_LACKING = 1000
/** Errors after which an immediate retry would fail again, or is forbidden. */
const FINAL: ReadonlySet<SyncErrorCode> = new Set([
  'limit-exceeded',
  'store-failed',
  'rate-limited',
  'credentials-rejected',
])

const NOTHING = Buffer.alloc(0)
/** The maximum number of aborts; each costs a request or two. Further too large files are skipped within the pack. */
const MAX_STOPS = 64
/** The maximum number of retried batches per fetch. A repository with more missing blobs is broken. */
const MAX_REFUSALS = 64
/** The worker is terminated instead of aborted. */
const NEVER = new AbortController().signal
