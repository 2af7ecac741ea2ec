import { join } from 'node:path'
import { Errors, readObject, type PromiseFsClient } from 'isomorphic-git'
import { printable } from '../../../base/text/printable.ts'
import { formatOf, type ObjectId, type Revision } from '../../model/revision.ts'
import { isSystemError, SyncError, type Remedy } from '../../model/sync-error.ts'
import type { TakenBlob } from '../../model/tree.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import { objectIdOf, type GitObject } from '../../upstream/objects/git-object.ts'
import type { KnownTrees, Relation } from '../../upstream/upstream.ts'
import { HISTORY_LIMITS, readRelation } from '../objects/ancestry.ts'
import type { ObjectLocation, WorkerTask } from '../objects/git-transport.ts'
import {
  ABSENT,
  FSCK,
  objectBytesOf,
  tooLarge,
  type KeepBlob,
  type LargeObject,
  type ObjectSource,
} from '../objects/object-source.ts'
import { lacksFormat, unlessNamed } from '../smart-http/remote-objects.ts'
import { fetchCommit } from './commit-fetch.ts'
import { INSTEAD } from './isomorphic-failure.ts'
import { limitedFs } from './limited-fs.ts'

/**
 * The objects of a repository as isomorphic-git fetches, unpacks and reads them. Over http(s) a fetch brings the whole
 * commit each time. isomorphic-git holds packs in memory, so the thread of the fetch is used for no other.
 */
export class IsomorphicObjects implements ObjectSource {
  readonly #place: Extract<ObjectLocation, { kind: 'isomorphic' }>['repository']
  readonly #task: WorkerTask
  readonly #onReceived: ((bytes: number) => void) | undefined
  readonly #at: { readonly fs: PromiseFsClient; readonly gitdir: string; readonly cache: object }

  constructor(
    { repository }: Extract<ObjectLocation, { kind: 'isomorphic' }>,
    task: WorkerTask,
    onReceived?: (bytes: number) => void,
  ) {
    this.#place = repository
    this.#task = task
    this.#onReceived = onReceived
    const { scratch, limits } = task
    const { kind } = repository
    // As many as of a pack that our own reader takes, and a local pack has objects of earlier commits.
    const objects = (kind === 'disk' ? 16 : 2) * limits.files + 16
    const gitdir = kind === 'disk' ? repository.folder : join(scratch, 'repository')
    this.#at = { fs: limitedFs({ scratch, objects }, kind), gitdir, cache: {} }
  }

  async open(revision: Revision, _known: KnownTrees, way: HostAccess): Promise<void> {
    const { commit, tag } = revision
    if (this.#place.kind === 'disk') return
    const { url } = this.#place
    if (formatOf(commit) !== 'sha1') throw lacksFormat(commit, url, 'sha1')
    await this.#fetch(url, tag ?? commit, way).catch((cause: unknown) => {
      throw withNextStep(unlessNamed(cause, revision, url))
    })
  }

  async #fetch(url: string, id: ObjectId, way: HostAccess, packBytes?: number): Promise<void> {
    const limits = { ...this.#task.limits, ...(packBytes !== undefined && { packBytes }) }
    const origin = { url, way, limits, ...(this.#onReceived && { onReceived: this.#onReceived }) }
    await fetchCommit(origin, this.#at, id, packBytes === undefined ? 1 : HISTORY_LIMITS.depth)
  }

  async read(id: ObjectId): Promise<GitObject | LargeObject | undefined> {
    const object = await this.#object(id)
    const isLarge = object !== undefined && object.bytes.length > objectBytesOf(this.#task.limits)
    return isLarge ? { type: 'too-large', size: object.bytes.length } : object
  }

  async relation(from: ObjectId, to: ObjectId, way: HostAccess): Promise<Relation> {
    const read: ObjectSource['read'] = (id) => this.read(id)
    if (this.#place.kind === 'disk') return readRelation(from, to, read)
    // It can leave out neither files nor trees. So histories come with all that was in them, within the same limit.
    const { url } = this.#place
    await this.#fetch(url, to, way, HISTORY_LIMITS.bytes)
    const relation = await readRelation(from, to, read)
    if (relation !== 'unknown') return relation
    await this.#fetch(url, from, way, HISTORY_LIMITS.bytes)
    return readRelation(from, to, read)
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const taken = new Map<ObjectId, TakenBlob>()
    for (const id of blobs) {
      const object = await this.#object(id)
      if (object?.type !== 'blob') taken.set(id, ABSENT)
      else if (object.bytes.length > this.#task.limits.blobBytes) taken.set(id, tooLarge(object.bytes.length))
      else taken.set(id, keep(id, object.bytes))
    }
    return taken
  }

  async #object(id: ObjectId): Promise<GitObject | undefined> {
    if (formatOf(id) !== 'sha1') return undefined
    try {
      const found = await readObject({ ...this.#at, oid: id, format: 'content' })
      if (found.format === 'content') {
        const { type, object } = found
        const read = { type, bytes: Buffer.from(object.buffer, object.byteOffset, object.byteLength) }
        if (objectIdOf(read, 'sha1') === id) return read
      }
    } catch (error) {
      if (error instanceof Errors.NotFoundError) return undefined
      throw this.#failure(id, error)
    }
    throw new SyncError('content-refused', `Cannot read ${id}: the object is another`, this.#remedy)
  }

  #failure(id: ObjectId, cause: unknown): unknown {
    if (cause instanceof SyncError) return withNextStep(cause)
    // A temporary disk error is not damage; one of the scratch folder is not the source's fault.
    if (isSystemError(cause))
      return this.#place.kind === 'disk'
        ? new SyncError('source-unreachable', `Cannot read ${id} of "${this.#place.folder}": ${String(cause.code)}`, {
            cause,
          })
        : cause
    const reason = printable(cause instanceof Error ? cause.message : String(cause))
    return new SyncError('content-refused', `Cannot read ${id} with isomorphic-git: ${reason}`, {
      cause,
      ...this.#remedy,
    })
  }

  get #remedy(): Remedy {
    return this.#place.kind === 'disk' ? { fix: FSCK } : {}
  }
}

/** A limit that isomorphic-git needs and no other backend has is told with what has none. */
function withNextStep(cause: unknown): unknown {
  if (!(cause instanceof SyncError) || cause.code !== 'limit-exceeded' || cause.place !== undefined) return cause
  const what = cause.message.startsWith('Cannot ') ? '' : 'Cannot read the repository with isomorphic-git: '
  return new SyncError('limit-exceeded', `${what}${cause.message}; ${INSTEAD}`, {
    cause,
    fix: 'Set `backend` of the source to embedded or system',
  })
}
