import { rm } from 'node:fs/promises'
import { formatOf, type ObjectId, type Revision } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import {
  BLOBS_AT_ONCE,
  TreeNotTakenError,
  type Blob,
  type OnStored,
  type Proof,
  type TakenBlob,
  type Tree,
  type TreeEntry,
} from '../model/tree.ts'
import { parseTree } from '../upstream/objects/tree-object.ts'
import { LIMIT_KEYS, namedLimit } from '../upstream/upstream.ts'
import type { KnownTrees, Relation } from '../upstream/upstream.ts'
import type { GitReach } from './git-reach.ts'
import { ObjectWorker } from './object-worker.ts'
import { HISTORY_LIMITS } from './objects/ancestry.ts'
import type { ObjectLocation } from './objects/git-transport.ts'
import { folderInScratch } from './objects/scratch-folder.ts'
import { ProgramEnded } from './program/program-objects.ts'
import { ProgramSupply } from './program/program-supply.ts'
import type { OpenedTree } from './worker-protocol.ts'

/** Fetches a commit with its own folder and thread. Disposal of the tree ends both. */
export async function openGitTree(
  place: ObjectLocation,
  { revision, known }: { readonly revision: Revision; readonly known: KnownTrees },
  reach: GitReach,
  signal: AbortSignal,
): Promise<Tree> {
  const fetch = await openFetch(place, reach)
  try {
    const within = fetch.within(signal)
    const way = await reach.way(within)
    await fetch.supply(revision, within)
    const opened = await fetch.ask({ kind: 'open', revision, known, way }, within)
    return new GitTree(revision, opened, fetch, reach)
  } catch (cause) {
    await fetch[Symbol.asyncDispose]()
    throw cause
  }
}

/** The commit of a repository that an object leads to, if it is a commit or a tag of one. */
export async function peelObject(place: ObjectLocation, id: ObjectId, reach: GitReach, signal: AbortSignal) {
  await using fetch = await openFetch(place, reach)
  return (await fetch.ask({ kind: 'peel', id }, fetch.within(signal))).commit
}

/** Returns the relation of two commits of a repository. */
export async function relate(
  place: ObjectLocation,
  { from, to }: { readonly from: ObjectId; readonly to: ObjectId },
  reach: GitReach,
  signal: AbortSignal,
): Promise<Relation> {
  const limits = { ...reach.limits, totalMs: Math.min(reach.limits.totalMs, HISTORY_LIMITS.ms) }
  await using fetch = await openFetch(place, { ...reach, limits })
  const within = fetch.within(signal)
  const way = await reach.way(within)
  await fetch.supplyHistory([from, to], within)
  return (await fetch.ask({ kind: 'relate', from, to, way }, within)).relation
}

class GitTree implements Tree {
  readonly revision: Revision
  readonly root: ObjectId
  readonly proof: Proof
  readonly #trees: ReadonlyMap<ObjectId, Uint8Array>
  readonly #fetch: Fetch
  readonly #reach: GitReach
  /** The trees listed last: the search for skills lists each folder of a skill twice, to walk it and for its files. */
  readonly #listed = new Map<ObjectId, readonly TreeEntry[]>()

  constructor(revision: Revision, opened: OpenedTree, fetch: Fetch, reach: GitReach) {
    const { root, commit, tag } = opened
    this.revision = revision
    this.root = root
    this.proof = tag === undefined ? { commit } : { commit, tag }
    this.#trees = treesOf(opened)
    this.#fetch = fetch
    this.#reach = reach
  }

  list(tree: ObjectId): readonly TreeEntry[] {
    const listed = this.#listed.get(tree)
    if (listed !== undefined) return listed
    const bytes = this.#trees.get(tree)
    if (bytes === undefined) throw new TreeNotTakenError(`Cannot list tree ${tree}: it was not fetched`)
    const entries = parseTree(bytes, formatOf(tree), this.#reach.limits.segmentBytes)
    if (this.#listed.size === MOST_LISTED) this.#listed.clear()
    this.#listed.set(tree, entries)
    return entries
  }

  async take(
    blobs: Iterable<ObjectId>,
    signal: AbortSignal,
    onStored?: OnStored,
  ): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const wanted = [...new Set(blobs)]
    const taken = new Map<ObjectId, TakenBlob>()
    const addAll: OnStored = (stored) => {
      for (const [id, blob] of stored) taken.set(id, blob)
      onStored?.(stored)
    }
    const within = this.#fetch.within(signal)
    for (let from = 0; from < wanted.length; from += BLOBS_AT_ONCE) {
      const lot = wanted.slice(from, from + BLOBS_AT_ONCE)
      const way = await this.#reach.way(within)
      const refused = await this.#fetch.prepare(lot, within)
      for (const [id, blob] of refused) taken.set(id, blob)
      const blobs = lot.filter((id) => !refused.has(id))
      const answer = await this.#fetch.ask({ kind: 'take', blobs, way }, within, addAll)
      for (const [id, blob] of answer.blobs) taken.set(id, blob)
    }
    return taken
  }

  bytesOf({ sha256 }: Blob): Uint8Array {
    return this.#reach.blobs.read(sha256)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fetch[Symbol.asyncDispose]()
  }
}

/** More than a skill has folders. */
const MOST_LISTED = 64

interface Fetch extends AsyncDisposable {
  readonly ask: ObjectWorker['ask']
  /** Makes a revision readable for the worker, if the worker cannot do so itself. */
  supply(revision: Revision, signal: AbortSignal): Promise<void>
  /** Makes the histories of these commits readable for the worker, if it cannot do so itself. */
  supplyHistory(commits: readonly [ObjectId, ObjectId], signal: AbortSignal): Promise<void>
  /** Makes blobs readable for the worker, and returns those that are unavailable. */
  prepare(blobs: readonly ObjectId[], signal: AbortSignal): Promise<ReadonlyMap<ObjectId, TakenBlob>>
  /** Combines the signal with the timeout of the whole fetch. */
  within(signal: AbortSignal): AbortSignal
}

async function openFetch(place: ObjectLocation, reach: GitReach): Promise<Fetch> {
  const { scratch, blobs, limits } = reach
  const folder = await folderInScratch(scratch, 'git-')
  const program =
    place.kind === 'program' ? await ProgramSupply.open(place.target, { ...reach, scratch: folder }) : undefined
  const worker = new ObjectWorker({ place, scratch: folder, database: blobs.database, limits }, reach)
  const overdue = new AbortController()
  const clock = setTimeout(() => {
    const message = `Cannot fetch: not done within ${namedLimit('totalMs', limits)}`
    overdue.abort(new SyncError('source-unreachable', message, { place: LIMIT_KEYS.totalMs }))
  }, limits.totalMs)
  return {
    ask: (request, signal, onStored) =>
      worker.ask(request, signal, onStored).catch(async (cause: unknown) => {
        throw cause instanceof ProgramEnded && program !== undefined ? await program.endReason(cause) : cause
      }),
    supply: async (revision, signal) => {
      if (program !== undefined) worker.connect(await program.open(revision, signal))
    },
    supplyHistory: async (commits, signal) => {
      if (program !== undefined) worker.connect(await program.openHistory(commits, signal))
    },
    prepare: async (blobs, signal) => {
      try {
        return (await program?.prepare(blobs, signal)) ?? NONE
      } catch (cause) {
        // The worker ends as after its own abort, because its interrupted work cannot be resumed.
        if (signal.aborted) await worker[Symbol.asyncDispose]()
        throw cause
      }
    },
    within: (signal) => AbortSignal.any([signal, overdue.signal]),
    [Symbol.asyncDispose]: async () => {
      clearTimeout(clock)
      await worker[Symbol.asyncDispose]()
      await program?.[Symbol.asyncDispose]()
      // Ignores a failure: the scratch folder's removal or the next sweep removes the rest.
      await rm(folder, { recursive: true, force: true }).catch(() => {})
    },
  }
}

const NONE: ReadonlyMap<ObjectId, TakenBlob> = new Map()

function treesOf({ ids, ends, bytes }: OpenedTree): ReadonlyMap<ObjectId, Uint8Array> {
  return new Map(ids.map((id, index) => [id, bytes.subarray(ends[index - 1] ?? 0, ends[index])]))
}
