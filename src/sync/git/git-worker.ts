import type { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { printablePath } from '../../base/text/printable.ts'
import type { ObjectId, Revision } from '../model/revision.ts'
import { isSystemError, SyncError } from '../model/sync-error.ts'
import type { TakenBlob } from '../model/tree.ts'
import { hiddenInFile } from '../skill/hidden-unicode.ts'
import { isLfsPointer } from '../skill/lfs.ts'
import { openDatabase } from '../store/objects/database.ts'
import { ObjectBatch } from '../store/objects/object-batch.ts'
import { ObjectRows } from '../store/objects/object-rows.ts'
import { treeOfCommit, targetOfTag, type GitObject } from '../upstream/objects/git-object.ts'
import { LIMIT_KEYS, namedLimit } from '../upstream/upstream.ts'
import type { KnownTrees } from '../upstream/upstream.ts'
import { DiskObjects } from './disk-objects.ts'
import type { ObjectLocation, WorkerTask } from './objects/git-transport.ts'
import { tooLarge, type KeepBlob, type LargeObject, type ObjectSource } from './objects/object-source.ts'
import { walkTrees } from './objects/tree-walk.ts'
import { ProgramObjects } from './program/program-objects.ts'
import { RemoteObjects } from './smart-http/remote-objects.ts'
import {
  failureFrom,
  type OpenedTree,
  type ReceivedBytes,
  type StoredBlobs,
  type WorkerAnswer,
  type WorkerRequest,
} from './worker-protocol.ts'

// The thread of a fetch, which does all inflating, hashing and walking. Termination ends it in any state; after an
// `end` request, another fetch may follow.

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  switch (request.kind) {
    case 'open':
      await objects.open(request.revision, request.known, request.way)
      return openTree(request.revision, request.known)
    case 'take':
      return take(request)
    case 'peel':
      return { kind: 'peeled', commit: await peel(request.id) }
    case 'relate': {
      const { from, to, way } = request
      return { kind: 'related', relation: await objects.relation(from, to, way) }
    }
    case 'end':
      return end()
    default:
      return request satisfies never
  }
}

/** Closes everything that the fetch has opened. */
function end(): WorkerAnswer {
  objects[Symbol.dispose]?.()
  files?.database.close()
  files = undefined
  const { heapTotal, external } = process.memoryUsage()
  return { kind: 'ended', isFit: heapTotal + external <= FIT_BYTES }
}

/** The maximum memory of a thread that waits for the next fetch. */
const FIT_BYTES = 2 ** 26

async function openTree(revision: Revision, known: KnownTrees): Promise<OpenedTree> {
  const commit = await readCommit(revision.commit)
  const root = treeOfCommit(commit.bytes)
  if (root === undefined) throw new SyncError('content-refused', `Cannot take ${revision.commit}: it names no tree`)
  const tag = revision.tag === undefined ? undefined : await readTag(revision.tag, revision.commit)
  const trees = await walkTrees(root, known, task.limits, readTree)
  const parts = [...trees.values()]
  let end = 0
  return {
    kind: 'opened',
    root,
    commit: Uint8Array.from(commit.bytes),
    tag: tag === undefined ? undefined : Uint8Array.from(tag.bytes),
    ids: [...trees.keys()],
    ends: parts.map((part) => (end += part.length)),
    bytes: concat(parts),
  }
}

async function readCommit(id: ObjectId): Promise<GitObject> {
  const object = await objects.read(id)
  if (object?.type === 'commit') return object
  if (object?.type === 'too-large') throw largeObject(`commit ${id}`, object)
  const why = object === undefined ? 'the repository does not have it' : `it is a ${object.type}`
  throw new SyncError('ref-not-found', `Cannot take commit ${id}: ${why}`)
}

/** Reads the tag object, which must lead to the commit that the listing of refs claimed. */
async function readTag(id: ObjectId, commit: ObjectId): Promise<GitObject> {
  const tag = await objects.read(id)
  if (tag?.type !== 'tag' || (await peel(id)) !== commit) {
    throw new SyncError('content-refused', `Cannot take tag ${id}: it does not lead to commit ${commit}`)
  }
  return tag
}

/** Returns the commit that a tag, or a tag of a tag, leads to. A commit leads to itself. */
async function peel(id: ObjectId): Promise<ObjectId | undefined> {
  let at: ObjectId | undefined = id
  for (let depth = 0; at !== undefined && depth < MAX_TAGS; depth += 1) {
    const object = await objects.read(at)
    if (object?.type === 'commit') return at
    at = object?.type === 'tag' ? targetOfTag(object.bytes) : undefined
  }
  return undefined
}

async function readTree(id: ObjectId, path: string): Promise<Uint8Array> {
  const object = await objects.read(id)
  if (object?.type === 'tree') return object.bytes
  if (object?.type === 'too-large') throw largeObject(printablePath(path), object)
  throw new SyncError('content-refused', `Cannot take ${printablePath(path)}: the repository lacks its tree ${id}`)
}

function largeObject(what: string, { size }: LargeObject): SyncError {
  const figure = size === undefined ? 'more bytes' : `${size} bytes`
  const most = `what ${namedLimit('files', task.limits)} allows`
  return new SyncError('limit-exceeded', `Cannot take ${what}: it has ${figure} by itself, over ${most}`, {
    place: LIMIT_KEYS.files,
  })
}

async function take({ blobs: ids, way }: Extract<WorkerRequest, { kind: 'take' }>): Promise<WorkerAnswer> {
  const sent = new Set<ObjectId>()
  let partSize = FIRST_PART
  let part = new Map<ObjectId, TakenBlob>()
  const keep: KeepBlob = (id, bytes) => {
    const blob = keepBlob(bytes)
    if (blob.kind === 'blob') part.set(id, blob)
    if (part.size < partSize) return blob
    files?.batch.flush()
    send({ kind: 'stored', blobs: part })
    for (const each of part.keys()) sent.add(each)
    part = new Map()
    partSize *= 2
    return blob
  }
  const taken = await objects.take(ids, keep, way)
  files?.batch.flush()
  return { kind: 'taken', blobs: new Map([...taken].filter(([id]) => !sent.has(id))) }
}

/**
 * The number of blobs after which the main thread can begin to read. Each further part of a request has twice as many: a
 * transaction of few objects writes as much of the index as one of many.
 */
const FIRST_PART = 500

function batch(): ObjectBatch {
  if (files === undefined) {
    const database = openDatabase(task.database)
    files = { database, batch: new ObjectBatch(new ObjectRows(database)) }
  }
  return files.batch
}

function keepBlob(bytes: Uint8Array): TakenBlob {
  const { blobBytes, packBytes } = task.limits
  if (bytes.length > blobBytes) return tooLarge(bytes.length)
  kept += bytes.length
  // A few packed bytes can inflate to large files on the disk, so their total has the same limit as the wire.
  if (kept > packBytes)
    throw new SyncError('limit-exceeded', `Cannot keep the files: over ${namedLimit('packBytes', task.limits)}`, {
      place: LIMIT_KEYS.packBytes,
    })
  const sha256 = batch().add(bytes)
  const hidden = hiddenInFile(bytes)
  return {
    kind: 'blob',
    size: bytes.length,
    sha256,
    isLfsPointer: isLfsPointer(bytes),
    ...(hidden !== undefined && { hidden }),
  }
}

let unreported = 0

/** Reports the bytes of packs in large pieces: a message for each chunk would cost more than the chunk. */
function reportReceived(bytes: number): void {
  unreported += bytes
  if (unreported < REPORTED_BYTES) return
  send({ kind: 'received', bytes: unreported })
  unreported = 0
}

const REPORTED_BYTES = 2 ** 18

async function objectsAt(place: ObjectLocation): Promise<ObjectSource> {
  if (place.kind === 'remote') return new RemoteObjects(place, task, reportReceived)
  if (place.kind === 'isomorphic') {
    // isomorphic-git loads slowly.
    const { IsomorphicObjects } = await import('./isomorphic/isomorphic-objects.ts')
    return new IsomorphicObjects(place, task, reportReceived)
  }
  if (place.kind === 'program') return new ProgramObjects(process.stdin, process.stdout, task.limits)
  return new DiskObjects(place.folder, task.limits)
}

/** Copies into a separate buffer, which can be transferred instead of copied. */
function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

function send(message: WorkerAnswer | StoredBlobs | ReceivedBytes): void {
  parentPort?.postMessage(message, message.kind === 'opened' ? [message.bytes.buffer] : [])
}

/** A tag of a tag is rare; only a malicious repository has a longer chain. */
const MAX_TAGS = 8

let kept = 0
let queue = Promise.resolve()
let task: WorkerTask
/** Opened by the first blob, and closed at the end of each task. */
let files: { readonly database: DatabaseSync; readonly batch: ObjectBatch } | undefined
let objects: ObjectSource
// The thread may start long before its first task.
parentPort?.on('message', (message: WorkerTask | WorkerRequest) => {
  if ('kind' in message) queueRequest(message)
  else begin(message)
})

function begin(first: WorkerTask): void {
  task = first
  kept = 0
  queue = queue.then(() => objectsAt(first.place)).then((opened) => void (objects = opened))
}

function queueRequest(request: WorkerRequest): void {
  queue = queue
    .then(() => answer(request))
    .catch((error: unknown): WorkerAnswer => {
      // A system error here concerns the scratch folder or a local repository.
      const expected = isSystemError(error)
        ? new SyncError('store-failed', `Cannot fetch: ${error.message}`, { cause: error })
        : error
      // Any other error is a bug: it ends the thread, and the main thread is notified.
      if (!(expected instanceof SyncError)) throw error
      return { kind: 'failed', failure: failureFrom(expected) }
    })
    .then(send)
}
