import { realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import { printablePath } from '../../../base/text/printable.ts'
import { FOLDER_REF, type ObjectId, type Revision } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import {
  takeEach,
  TreeNotTakenError,
  type Blob,
  type Proof,
  type TakenBlob,
  type Tree,
  type TreeEntry,
} from '../../model/tree.ts'
import { hiddenInFile } from '../../skill/hidden-unicode.ts'
import { isLfsPointer } from '../../skill/lfs.ts'
import type { BlobBatch, BlobStore } from '../../store/objects/blob-store.ts'
import { pacedBlobId } from '../objects/paced-hash.ts'
import { plainCommit } from '../objects/synthetic-commit.ts'
import { parseTree } from '../objects/tree-object.ts'
import type { FetchLimits } from '../upstream.ts'
import { realPlacesBelow } from './excluded-paths.ts'
import { FolderChangedError, legiblePath, rawPath, readFault } from './folder-error.ts'
import { readFile } from './folder-file.ts'
import type { FolderHashes } from './folder-hashes.ts'
import { followedLinks } from './folder-links.ts'
import { NO_CONTENT, treeObjectsOf, type FolderObjects } from './folder-objects.ts'
import { FolderRest, type RestClock } from './folder-rest.ts'
import { chooseWanted, namedPathsOf } from './folder-selection.ts'
import { walkFolder } from './folder-walk.ts'
import { type FollowedLinks, diskCodeOf, isGone, OpenFolder } from './open-folder.ts'
import { PassedOver } from './passed-over.ts'

/** The parameters of reading a folder. */
export interface FolderReading {
  /**
   * Same as in `Selection`: only skills at or below it are read, and the targets of their links. Empty for the folder
   * itself.
   */
  readonly root: string
  /** Same as in `Selection`: read whole, skills or not. */
  readonly docs: string | undefined
  readonly limits: FetchLimits
  /** Keeps the bytes of taken files. */
  readonly blobs: BlobStore
  /** The cached hashes of earlier reads. Without them every file is read. */
  readonly hashes?: FolderHashes | undefined
  /** Delays the read of recently written files. Without it they are read at once. */
  readonly clock?: RestClock | undefined
  /** Absolute paths to exclude, even if they are in the folder. */
  readonly apart?: readonly string[] | undefined
  /** True to read links that lead out of the folder to skills of the same owner as those skills. */
  readonly follows?: boolean | undefined
}

/**
 * Reads a folder as if it were committed now: git objects with SHA-256 ids, and a commit without parents and metadata.
 * So the same content always has the same id. Files outside skills are excluded, and so are empty folders and what
 * `PassedOver` says. An unreadable entry has only its name, and is refused when it is taken. `path` is absolute.
 */
export async function readFolder(path: string, reading: FolderReading, signal: AbortSignal): Promise<FolderTree> {
  try {
    return await readAtRest(path, reading, signal)
  } finally {
    reading.hashes?.end()
  }
}

async function readAtRest(path: string, reading: FolderReading, signal: AbortSignal): Promise<FolderTree> {
  const rest = reading.clock && new FolderRest(reading.clock)
  for (let attempt = 1; ; attempt += 1) {
    try {
      const [isFirstAttempt, isLastAttempt] = [attempt === 1, attempt === ATTEMPTS]
      return await readOnce(path, { ...reading, rest, isFirstAttempt, isLastAttempt }, signal)
    } catch (error) {
      if (!(error instanceof FolderChangedError)) throw error
      if (attempt === ATTEMPTS) throw changeError(path, error)
    }
  }
}

/** Enough attempts for an editor that saves a file during the read. */
const ATTEMPTS = 3

interface Attempt extends FolderReading {
  readonly rest: FolderRest | undefined
  readonly isFirstAttempt: boolean
  readonly isLastAttempt: boolean
}

async function readOnce(path: string, reading: Attempt, signal: AbortSignal): Promise<FolderTree> {
  signal.throwIfAborted()
  const { root, docs, hashes, apart = [], follows = false } = reading
  hashes?.begin()
  const { real, opened, followed } = await openAt(path, (at) =>
    follows ? followedLinks(at, apart, reading.limits.files) : Promise.resolve(undefined),
  )
  await using folder = opened
  const below = new Set((await realPlacesBelow(real, apart)).map((place) => rawPath(relative(real, place))))
  const selection = { root: rawPath(root), docs: docs === undefined ? undefined : rawPath(docs) }
  const passedOver = await PassedOver.of(real, namedPathsOf(selection), followed)
  const listed = await walkFolder(folder, { ...reading, apart: below, passedOver, followed }, signal)
  const choice = chooseWanted(listed, selection)
  if (reading.isFirstAttempt && reading.rest !== undefined && hashes?.wouldLose(choice) === true) {
    // Many editors delete the old file before they write the new one, and a branch switch deletes folders.
    await reading.rest.pause(signal)
    throw new FolderChangedError()
  }
  hashes?.choose(choice, (at) => passedOver.covers(at))
  const objects = await treeObjectsOf(folder, { ...reading, listed, choice, hashes }, signal)
  const { bytes: commit, id } = plainCommit(objects.root, 'The content of a folder')
  return new FolderTree({ asked: undefined, ref: FOLDER_REF, commit: id }, { commit }, objects, {
    path: real,
    followed,
    reading,
  })
}

interface Opened {
  readonly real: string
  readonly opened: OpenFolder
  readonly followed: FollowedLinks | undefined
}

/**
 * Opens the operator's folder, which may be a link. Links that lead out of it are followed only as `followedIn` says.
 */
async function openAt(path: string, followedIn: (real: string) => Promise<FollowedLinks | undefined>): Promise<Opened> {
  try {
    const real = await realpath(path)
    const followed = await followedIn(real)
    return { real, opened: await OpenFolder.open(real, followed), followed }
  } catch (cause) {
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    if (code === 'ENOTDIR')
      throw new SyncError('repository-not-found', `Cannot read "${path}": it is not a folder`, {
        cause,
        fix: NO_FOLDER,
      })
    if (isGone(cause))
      throw new SyncError('repository-not-found', `Cannot read "${path}": there is no such folder`, {
        cause,
        fix: NO_FOLDER,
      })
    throw new SyncError('source-unreachable', `Cannot read "${path}": ${code}`, { cause })
  }
}

function changeError(path: string, { message }: FolderChangedError): SyncError {
  const what = message === '' ? 'it' : printablePath(legiblePath(message))
  return new SyncError('source-unreachable', `Cannot read "${path}": ${what} changes while it is read`, {
    fix: CHANGING,
  })
}

interface Origin {
  readonly path: string
  readonly followed: FollowedLinks | undefined
  readonly reading: FolderReading
}

/** The tree of a folder. Files are read when they are taken; if the bytes differ from those hashed, the take fails. */
export class FolderTree implements Tree {
  readonly revision: Revision
  readonly root: ObjectId
  readonly proof: Proof
  readonly #objects: FolderObjects
  readonly #origin: Origin

  constructor(revision: Revision, proof: Proof, objects: FolderObjects, origin: Origin) {
    this.revision = revision
    this.root = objects.root
    this.proof = proof
    this.#objects = objects
    this.#origin = origin
  }

  /** Returns the same tree with another revision. */
  of(revision: Revision): FolderTree {
    return new FolderTree(revision, this.proof, this.#objects, this.#origin)
  }

  list(tree: ObjectId): readonly TreeEntry[] {
    const bytes = this.#objects.trees.get(tree)
    if (bytes === undefined) throw new TreeNotTakenError(`Cannot list tree ${tree}: it is not a tree of the folder`)
    const entries = parseTree(bytes, 'sha256', this.#origin.reading.limits.segmentBytes)
    return entries.map((entry) => {
      const { name, kind, id } = entry
      return kind === 'folder' && !this.#objects.trees.has(id) ? { name, kind: 'unread', id } : entry
    })
  }

  async take(blobs: Iterable<ObjectId>, signal: AbortSignal): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const batch = this.#origin.reading.blobs.batch()
    const taken = await takeEach(blobs, async (id) => this.#take(id, batch), signal)
    batch.flush()
    return taken
  }

  bytesOf({ sha256 }: Blob): Uint8Array {
    return this.#origin.reading.blobs.read(sha256)
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #take(id: ObjectId, batch: BlobBatch): Promise<TakenBlob> {
    const reason = NO_CONTENT.get(id)
    if (reason !== undefined) return { kind: 'refused', reason }
    const place = this.#objects.blobs.get(id)
    if (place === undefined) return { kind: 'refused', reason: 'absent' }
    if ('ignoredBy' in place) return { kind: 'refused', reason: 'ignored', by: place.ignoredBy }
    const bytes = 'bytes' in place ? place.bytes : await this.#read(place.path, id)
    const hidden = hiddenInFile(bytes)
    return {
      kind: 'blob',
      size: bytes.length,
      sha256: batch.add(bytes),
      isLfsPointer: isLfsPointer(bytes),
      ...(hidden !== undefined && { hidden }),
    }
  }

  async #read(path: string, id: ObjectId): Promise<Buffer> {
    const { reading, followed } = this.#origin
    try {
      await using top = await OpenFolder.open(this.#origin.path, followed).catch(readFault(''))
      const bytes = await readFile(top, path, reading.limits.blobBytes)
      if ((await pacedBlobId(bytes)) !== id) throw new FolderChangedError(path)
      return bytes
    } catch (error) {
      if (error instanceof FolderChangedError) throw changeError(this.#origin.path, error)
      throw error
    }
  }
}

const NO_FOLDER = 'Check the path of the folder, and that its disk is mounted'
const CHANGING = 'Wait until nothing writes there; a running daemon reads it again by itself'
