import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { formatOf, isIdOf, type ObjectId, type Revision } from '../model/revision.ts'
import { isSystemError, SyncError, type SyncErrorCode } from '../model/sync-error.ts'
import type { Taken } from '../model/tree.ts'
import { GitHttp } from './git-http.ts'
import type { Place, WorkerTask } from './git-messages.ts'
import { treeOfCommit, type GitObject } from './git-object.ts'
import { requestPack, type Wanted } from './git-remote.ts'
import { lackingTrees, outermost } from './known-trees.ts'
import type { KeepBlob, Objects } from './objects.ts'
import { PackReader, type Found } from './pack-reader.ts'
import { spoolPack } from './pack-spool.ts'
import { ServerRefusal } from './pkt-line.ts'
import { askRelation, type Allowance } from './remote-history.ts'
import { namedLimit } from './upstream.ts'
import type { KnownTrees, Relation } from './upstream.ts'
import type { Way } from './way.ts'

/**
 * The objects of a repository behind http(s): one pack with the commit and its trees (and all blobs, from a server that
 * cannot leave them out), then a pack for each lot of blobs. Of an update, trees that are known are left out.
 */
export class RemoteObjects implements Objects {
  readonly #place: Extract<Place, { kind: 'remote' }>
  readonly #task: WorkerTask
  readonly #allowance: Allowance
  #snapshot: PackReader | undefined
  /** Trees that were left out of the snapshot and have to be read all the same. */
  #rest: PackReader | undefined
  #packs = 0
  #refusals = 0

  constructor(place: Extract<Place, { kind: 'remote' }>, task: WorkerTask) {
    const { packBytes, blobBytes, files } = task.limits
    this.#place = place
    this.#task = task
    this.#allowance = {
      bytes: { limit: namedLimit('packBytes', task.limits), left: packBytes },
      // Each object of a snapshot is an entry of a tree, but for the few that lead to the root. Twice that many,
      // because the entries of known trees are not counted.
      pack: { objects: 2 * files + 16, objectBytes: Math.max(blobBytes, LEAST_OBJECT_BYTES) },
    }
  }

  async open(revision: Revision, known: KnownTrees, way: Way): Promise<void> {
    const { format } = this.#place.server
    if (formatOf(revision.commit) !== format) {
      const message = `Cannot fetch ${revision.commit} of "${this.#place.url}": its ids are ${format}`
      throw new SyncError('ref-not-found', message)
    }
    const ids = [revision.commit, ...(revision.tag === undefined ? [] : [revision.tag])]
    const wanted = { ids, depth: 1, filter: 'blob:none' } as const
    if (await this.#update(wanted, revision.commit, known, way)) return
    this.#snapshot = await this.#fetch(wanted, way).catch((cause: unknown) => {
      // Servers word it in their own ways, but name what they do not have.
      if (!(cause instanceof ServerRefusal) || !ids.some((id) => cause.said.includes(id))) throw cause
      const message = `Cannot fetch ${revision.commit} of "${this.#place.url}": the server says "${cause.said}"`
      throw new SyncError('ref-not-found', message, { cause })
    })
  }

  [Symbol.dispose](): void {
    this.#snapshot?.[Symbol.dispose]()
    this.#rest?.[Symbol.dispose]()
    this.#snapshot = undefined
    this.#rest = undefined
  }

  async read(id: ObjectId): Promise<GitObject | undefined> {
    return this.#snapshot?.read(id) ?? this.#rest?.read(id)
  }

  /** Fetches what is not in the known trees, and what of them stands elsewhere by now. False where it takes all of them. */
  async #update(wanted: Wanted, commit: ObjectId, known: KnownTrees, way: Way): Promise<boolean> {
    // One that cannot leave out files would leave out those of known trees too, for good.
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
      // Whatever a server makes of a tree that we have, it can be asked in the usual way.
      if (!(cause instanceof SyncError) || FINAL.has(cause.code)) throw cause
    }
    // A descriptor that is closed twice may be that of another by then.
    this[Symbol.dispose]()
    return false
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob, way: Way) {
    const taken = new Map<ObjectId, Taken>()
    for (const id of blobs) {
      const object = this.#snapshot?.read(id)
      if (object?.type === 'blob') taken.set(id, keep(object.bytes))
      else if (this.#snapshot?.isTooLarge(id) ?? false) taken.set(id, TOO_LARGE)
    }
    const { filters, format } = this.#place.server
    const missing = blobs.filter((id) => !taken.has(id) && isIdOf(format, id))
    if (filters) await this.#takeLot(missing, keep, taken, way)
    return new Map(blobs.map((id) => [id, taken.get(id) ?? ABSENT]))
  }

  /** One blob that the server lacks makes it refuse the whole lot, and say which: the rest is asked for again. */
  async #takeLot(lot: readonly ObjectId[], keep: KeepBlob, taken: Map<ObjectId, Taken>, way: Way): Promise<void> {
    if (lot.length === 0) return
    const wanted = new Set(lot)
    const found: Found = (id, { type, bytes }) => {
      if (type === 'blob' && wanted.has(id)) taken.set(id, keep(bytes))
    }
    try {
      using pack = await this.#fetch({ ids: lot }, way, found)
      for (const id of lot) if (!taken.has(id) && pack.isTooLarge(id)) taken.set(id, TOO_LARGE)
    } catch (cause) {
      this.#refusals += 1
      const rest = cause instanceof ServerRefusal ? lot.filter((id) => !cause.said.includes(id)) : lot
      // A server in trouble refuses as well. Only one that names an id says that it does not have it.
      if (rest.length === lot.length || this.#refusals > MAX_REFUSALS) throw cause
      await this.#takeLot(rest, keep, taken, way)
    }
  }

  async relation(from: ObjectId, to: ObjectId, way: Way): Promise<Relation> {
    return askRelation(from, to, (wanted, found, allowance) => this.#fetch(wanted, way, found, allowance))
  }

  async #fetch(wanted: Wanted, way: Way, found?: Found, allowance = this.#allowance): Promise<PackReader> {
    const { server, url } = this.#place
    const { limits, scratch } = this.#task
    const http = new GitHttp(url, { limits, bytes: allowance.bytes, way, signal: NEVER })
    const file = join(scratch, `${(this.#packs += 1)}.pack`)
    try {
      await spoolPack(requestPack(http, server, wanted), file, server.format)
      return await PackReader.open(file, server.format, allowance.pack, found)
    } finally {
      removeName(file)
    }
  }
}

/** The reader holds the file open. A name that cannot be removed goes with the scratch folder, and hides no other error. */
function removeName(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch (error) {
    if (!isSystemError(error)) throw error
  }
}

/** Trees that one request asks for. Where more moved, all of them are asked for by the commit. */
const MOST_LACKING = 1000
/** To ask again at once would bring the same, or is what was asked not to be done. */
const FINAL: ReadonlySet<SyncErrorCode> = new Set([
  'limit-exceeded',
  'store-failed',
  'rate-limited',
  'credentials-rejected',
])

const NOTHING = Buffer.alloc(0)
const TOO_LARGE: Taken = { kind: 'refused', reason: 'too-large' }
const ABSENT: Taken = { kind: 'refused', reason: 'absent' }
/** Commits and trees are read whole even where files have to be small. */
const LEAST_OBJECT_BYTES = 2 ** 24
/** Lots tried again in one fetch. A repository with more blobs missing than that is broken. */
const MAX_REFUSALS = 64
/** The worker is not told to stop: it is ended. */
const NEVER = new AbortController().signal
