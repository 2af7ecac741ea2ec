import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { hiddenInFile } from '../../skill-md/hidden-unicode.ts'
import { isLfsPointer } from '../../skill-md/lfs.ts'
import { FOLDER_REF, type ObjectId, type Revision } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import { takeEach, TreeNotTaken, type Proof, type Taken, type Tree, type TreeEntry } from '../../model/tree.ts'
import { chooseWanted } from './folder-selection.ts'
import { FolderChanged, legible, readFault } from './folder-error.ts'
import { readFile } from './folder-file.ts'
import type { FolderHashes } from './folder-hashes.ts'
import { followedLinks, type FollowedLinks } from './folder-links.ts'
import { NO_CONTENT, treeObjectsOf, type FolderObjects } from './folder-objects.ts'
import { FolderRest, type RestClock } from './write-settle.ts'
import { walkFolder } from './folder-walk.ts'
import { diskCodeOf, isGone, OpenFolder } from './open-folder.ts'
import { pacedBlobId, pacedDigest } from '../git/objects/paced-hash.ts'
import { realPlacesBelow } from './excluded-paths.ts'
import { plainCommit } from '../git/objects/synthetic-commit.ts'
import { parseTree } from '../git/objects/tree-object.ts'
import { shown } from '../../../base/text/printable.ts'
import type { FetchLimits } from '../upstream.ts'

/** How a folder is read. */
export interface FolderReading {
  /** As in `Selection`: only skills at and below it are read, and what links of theirs lead to. Empty: the folder itself. */
  readonly root: string
  /** As in `Selection`: read whole, skills or not. */
  readonly docs: string | undefined
  readonly limits: FetchLimits
  /** An existing folder, for copies of what is taken; each tree has one of its own in it, gone when it is disposed. */
  readonly scratch: string
  /** What an earlier look learnt. Without it every file is read. */
  readonly hashes?: FolderHashes | undefined
  /** Lets files that were just written come to rest. Without it each is read as it stands. */
  readonly clock?: RestClock | undefined
  /** Absolute paths of what is passed over although it lies in it. */
  readonly apart?: readonly string[] | undefined
  /** Links that lead out of the folder to skills of its owner are read as those skills. */
  readonly follows?: boolean | undefined
}

/**
 * A folder as if it were committed at this moment: git objects with SHA-256 ids, and a commit without parents that says
 * nothing but the content, so that the same content has the same id whenever and wherever it is read. Files outside of
 * skills are not in it, nor are `.git`, `node_modules` and folders that hold nothing. What cannot be read stands in it by
 * name alone, and is refused when it is taken. `path` is absolute.
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
      if (!(error instanceof FolderChanged)) throw error
      if (attempt === ATTEMPTS) throw changed(path, error)
    }
  }
}

/** Somebody who saves a file while it is read is done by the next time. */
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
  const passedOver = new Set((await realPlacesBelow(real, apart)).map((place) => raw(relative(real, place))))
  const listed = await walkFolder(folder, { ...reading, passedOver, followed }, signal)
  const choice = chooseWanted(listed, { root: raw(root), docs: docs === undefined ? undefined : raw(docs) })
  if (reading.isFirstAttempt && reading.rest !== undefined && hashes?.wouldLose(choice) === true) {
    // Many who save take away what there was first, and who switches a branch takes away folders.
    await reading.rest.pause(signal)
    throw new FolderChanged()
  }
  hashes?.choose(choice)
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

/** The folder that the operator named may be a link; links in it are followed out of it as far as `followedIn` says. */
async function openAt(path: string, followedIn: (real: string) => Promise<FollowedLinks | undefined>): Promise<Opened> {
  try {
    const real = await realpath(path)
    const followed = await followedIn(real)
    return { real, opened: await OpenFolder.open(real, followed), followed }
  } catch (cause) {
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    if (code === 'ENOTDIR')
      throw new SyncError('repository-not-found', `Cannot read "${path}": it is no folder`, { cause })
    if (isGone(cause))
      throw new SyncError('repository-not-found', `Cannot read "${path}": there is no such folder`, { cause })
    throw new SyncError('source-unreachable', `Cannot read "${path}": ${code}`, { cause })
  }
}

function changed(path: string, { message }: FolderChanged): SyncError {
  const what = message === '' ? 'it' : shown(legible(message))
  return new SyncError('source-unreachable', `Cannot read "${path}": ${what} changes while it is read`)
}

function raw(path: string): string {
  return Buffer.from(path).toString('latin1')
}

interface Origin {
  readonly path: string
  readonly followed: FollowedLinks | undefined
  readonly reading: FolderReading
}

/** The tree of a folder. Bytes are read when they are taken, and are those that were hashed, or none. */
export class FolderTree implements Tree {
  readonly revision: Revision
  readonly root: ObjectId
  readonly proof: Proof
  readonly #objects: FolderObjects
  readonly #origin: Origin
  #scratch: string | undefined

  constructor(revision: Revision, proof: Proof, objects: FolderObjects, origin: Origin) {
    this.revision = revision
    this.root = objects.root
    this.proof = proof
    this.#objects = objects
    this.#origin = origin
  }

  /** The same tree by another name for its revision, with a scratch folder of its own. */
  of(revision: Revision): FolderTree {
    return new FolderTree(revision, this.proof, this.#objects, this.#origin)
  }

  list(tree: ObjectId): readonly TreeEntry[] {
    const bytes = this.#objects.trees.get(tree)
    if (bytes === undefined) throw new TreeNotTaken(`Cannot list tree ${tree}: it is none of the folder`)
    const entries = parseTree(bytes, 'sha256', this.#origin.reading.limits.segmentBytes)
    return entries.map((entry) => {
      const { name, kind, id } = entry
      return kind === 'folder' && NO_CONTENT.has(id) ? { name, kind: 'unread', id } : entry
    })
  }

  async take(blobs: Iterable<ObjectId>, signal: AbortSignal): Promise<ReadonlyMap<ObjectId, Taken>> {
    return takeEach(blobs, async (id) => this.#take(id), signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#scratch === undefined) return
    await rm(this.#scratch, { recursive: true, force: true }).catch((error: unknown) => {
      // What cannot be removed now goes with the scratch folder, or with the next sweep.
      if (diskCodeOf(error) === undefined) throw error
    })
  }

  async #take(id: ObjectId): Promise<Taken> {
    const reason = NO_CONTENT.get(id)
    if (reason !== undefined) return { kind: 'refused', reason }
    const place = this.#objects.blobs.get(id)
    if (place === undefined) return { kind: 'refused', reason: 'absent' }
    const bytes = 'bytes' in place ? place.bytes : await this.#read(place.path, id)
    const file = await this.#kept(id, bytes)
    const hidden = hiddenInFile(bytes)
    return {
      kind: 'blob',
      size: bytes.length,
      sha256: await pacedDigest(bytes),
      isLfsPointer: isLfsPointer(bytes),
      ...(hidden !== undefined && { hidden }),
      file,
      at: 0,
    }
  }

  async #read(path: string, id: ObjectId): Promise<Buffer> {
    const { reading, followed } = this.#origin
    try {
      await using top = await OpenFolder.open(this.#origin.path, followed).catch(readFault(''))
      const bytes = await readFile(top, path, reading.limits.blobBytes)
      if ((await pacedBlobId(bytes)) !== id) throw new FolderChanged(path)
      return bytes
    } catch (error) {
      if (error instanceof FolderChanged) throw changed(this.#origin.path, error)
      throw error
    }
  }

  async #kept(id: ObjectId, bytes: Buffer): Promise<string> {
    try {
      this.#scratch ??= await mkdtemp(join(this.#origin.reading.scratch, 'folder-'))
      const file = join(this.#scratch, id)
      // One that was taken before has these very bytes.
      await rm(file, { force: true })
      await writeFile(file, bytes, { mode: 0o600, flag: 'wx' })
      return file
    } catch (cause) {
      const code = diskCodeOf(cause)
      if (code === undefined) throw cause
      throw new SyncError('store-failed', `Cannot write to the scratch folder: ${code}`, { cause })
    }
  }
}
