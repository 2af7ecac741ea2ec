import type { ObjectId, Revision } from '../model/revision.ts'
import type { Proof, Tree } from '../model/tree.ts'
import type { ServerListing } from '../model/server-listing.ts'

/** One source as it can be reached: transport only. Every failure is a `SyncError`. */
export type Upstream = TreeUpstream | ListingUpstream

/**
 * One that has files in commits. It keeps nothing of the repository between calls, and whatever it writes lies in the scratch
 * folder it was opened with. Every object was hashed against its id.
 */
export interface TreeUpstream extends Reachable {
  readonly kind: 'tree'
  /** The commit of the revision, with all of its trees but those the caller knows; no file content yet. */
  fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree>
}

/** One that says what it has without giving it: another MCP server. */
export interface ListingUpstream extends Reachable {
  readonly kind: 'listing'
  /** What it lists, as it stood at that revision. */
  list(revision: Revision, signal: AbortSignal): Promise<Listing>
}

/** What an MCP server says of its skills. */
export interface Listing extends ServerListing {
  readonly revision: Revision
  /** A commit object that stands for the listing, and the tree that it names: its digest. */
  readonly proof: Proof
  readonly root: ObjectId
}

interface Reachable {
  /** Where the ref points now: one listing, no file is read. */
  resolve(signal: AbortSignal): Promise<Revision>
  /**
   * Whether the commit `to` has `from` among its ancestors, or is it. Fails for no reason but the signal: what cannot be
   * learnt within bounds is `unknown`.
   */
  relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation>
}

/** How a commit stands to an earlier one. `descends` and `rewritten` are certain, by the hashes of the commits read. */
export type Relation = 'descends' | 'rewritten' | 'unknown'

/**
 * Trees that the caller will not ask for, by their path from the repository's root (the root is the empty path): what lies
 * below them was found in an earlier commit. Only a tree with this id at this path is known; elsewhere it is asked for.
 */
export interface KnownTrees {
  readonly byPath: ReadonlyMap<string, ObjectId>
  /**
   * Paths that the caller asks below. What lies beside them counts against no limit, and is left out where it alone is over one;
   * undefined for the whole repository.
   */
  readonly within?: readonly string[]
}

export const NOTHING_KNOWN: KnownTrees = { byPath: new Map() }

/** Bounds on what an upstream can make us do. A number over its bound is `limit-exceeded`, a wait over it `source-unreachable`. */
export interface FetchLimits {
  /** To connect and hear the first byte. */
  readonly connectMs: number
  /** Without a byte. */
  readonly idleMs: number
  /** For one fetch, all in all. */
  readonly totalMs: number
  /** Bytes of one fetch, as they come over the wire. */
  readonly packBytes: number
  /** Entries of the trees that are asked for, all in all. */
  readonly files: number
  /** Bytes of one blob. A larger one is refused alone; the rest is taken. */
  readonly blobBytes: number
  readonly segmentBytes: number
  readonly pathBytes: number
  readonly depth: number
}

/** The defaults. */
export const FETCH_LIMITS: FetchLimits = {
  connectMs: 10_000,
  idleMs: 30_000,
  totalMs: 600_000,
  packBytes: 2 ** 31,
  files: 100_000,
  blobBytes: 2 ** 24,
  segmentBytes: 200,
  pathBytes: 1024,
  depth: 64,
}

/** A limit as a message names it: with the key under which it can be raised, and its figure. */
export function namedLimit<Limit extends keyof FetchLimits>(limit: Limit, limits: Pick<FetchLimits, Limit>): string {
  return `${LIMIT_KEYS[limit]} (${limits[limit]})`
}

const LIMIT_KEYS: Readonly<Record<keyof FetchLimits, string>> = {
  connectMs: 'limits.fetch.connect_timeout',
  idleMs: 'limits.fetch.idle_timeout',
  totalMs: 'limits.fetch.total_timeout',
  packBytes: 'limits.repository.bytes',
  files: 'limits.repository.files',
  blobBytes: 'limits.skill.bytes',
  segmentBytes: 'limits.repository.segment_bytes',
  pathBytes: 'limits.repository.path_bytes',
  depth: 'limits.repository.depth',
}
