import type { ObjectId, Revision } from '../model/revision.ts'
import type { ServerListing } from '../model/server-listing.ts'
import type { ChannelSkills, KnownListSize, PublishedBy } from '../model/snapshot.ts'
import type { SyncErrorCode } from '../model/sync-error.ts'
import type { Proof, Tree } from '../model/tree.ts'
import { PATH_LIMITS } from '../skill/skill-path.ts'

/** The transport to one source. Every failure is a `SyncError`. */
export type Upstream = TreeUpstream | ListingUpstream | PublishedUpstream

/**
 * An upstream with files in commits. It stores nothing of the repository between calls, and writes only to its scratch
 * folder. Every object is verified against its id.
 */
export interface TreeUpstream extends Reachable {
  readonly kind: 'tree'
  /** Fetches the commit of the revision with all trees that the caller does not know; no file content yet. */
  fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree>
}

/** An upstream that lists its content without delivering it: another MCP server. */
export interface ListingUpstream extends Reachable {
  readonly kind: 'listing'
  /** Returns the listing at that revision. */
  list(revision: Revision, signal: AbortSignal): Promise<Listing>
}

/** An upstream that has surveyed its skills already: the channel of another hub. */
export interface PublishedUpstream extends Reachable {
  readonly kind: 'published'
  /** Fetches all that the revision has into the store, but for the files of the lists of skills that the caller knows. */
  take(revision: Revision, known: KnownListSize, signal: AbortSignal): Promise<PublishedRevision>
  /** Returns the proof that the log has the entry of this head, as text. `index`: that of the entry, if it is known. */
  prove(head: ObjectId, index: number | undefined, signal: AbortSignal): Promise<string>
  /** Reads the whole log, and compares it with its checkpoint. */
  audit(asked: AskedAudit, onRead: (entries: number) => void, signal: AbortSignal): Promise<LogAudit>
}

/** The things that an audit of a log looks for. */
export interface AskedAudit {
  /** The object that is served. */
  readonly served?: ObjectId | undefined
  /** The checkpoint that another machine has of the log, as text: both must be of one log. */
  readonly other?: string | undefined
}

/** The log of a channel, as it was read from its beginning. */
export interface LogAudit {
  /** The name of the log. */
  readonly log: string
  /** The number of its entries. */
  readonly entries: number
  /** The times of the first and of the last entry. ISO 8601, UTC. */
  readonly first?: string
  readonly last?: string
  /** The newest entry that names what is served; absent if none does. */
  readonly served?: PublishedBy['entry']
  /** The number of entries of another form than this version knows. */
  readonly unread: number
  /** The differences from what was signed. */
  readonly findings: readonly { readonly code: SyncErrorCode; readonly message: string }[]
}

/** The content of a channel at one revision. */
export interface PublishedRevision extends Pick<PublishedBy, 'log' | 'entry'> {
  /** The skills by the sources of the hub. */
  readonly sources: readonly ChannelSkills[]
}

/** The listing of an MCP server. */
export interface Listing extends ServerListing {
  readonly revision: Revision
  /** A synthetic commit object for the listing, and the tree that it names: the listing's digest. */
  readonly proof: Proof
  readonly root: ObjectId
}

interface Reachable {
  /** Resolves the ref to its present revision: one listing, and no file is read. */
  resolve(signal: AbortSignal): Promise<Revision>
  /**
   * Returns the relation of the commit `to` to `from`. Rejects only by the signal: a relation that the limits leave
   * open is `unknown`.
   */
  relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation>
}

/**
 * The relation of a commit to an earlier one. `descends` and `rewritten` are certain, by the hashes of the commits
 * read.
 */
export type Relation = 'descends' | 'rewritten' | 'unknown'

/**
 * Trees that the caller already has, by path from the repository's root (the root is the empty path), from an earlier
 * commit. Only a tree with this id at this path is known; elsewhere the caller needs it.
 */
export interface KnownTrees {
  readonly byPath: ReadonlyMap<string, ObjectId>
  /**
   * The paths that the caller needs. Content outside them counts against no limit, and is left out if it alone exceeds
   * one. `undefined` for the whole repository.
   */
  readonly within?: readonly string[]
}

export const NOTHING_KNOWN: KnownTrees = { byPath: new Map() }

/** Limits for an upstream. Too much data is `limit-exceeded`, a timeout is `source-unreachable`. */
export interface FetchLimits {
  /** Timeout for connecting and the first byte. */
  readonly connectMs: number
  /** Timeout between two bytes. */
  readonly idleMs: number
  /** Timeout for one whole fetch. */
  readonly totalMs: number
  /** Maximum bytes of one fetch on the wire. */
  readonly packBytes: number
  /** Maximum entries of all requested trees. */
  readonly files: number
  /** Maximum bytes of one blob. A larger one is refused alone; the rest is taken. */
  readonly blobBytes: number
  readonly segmentBytes: number
  readonly pathBytes: number
  readonly depth: number
}

/** The default limits. */
export const FETCH_LIMITS: FetchLimits = {
  connectMs: 10_000,
  idleMs: 30_000,
  totalMs: 600_000,
  packBytes: 2 ** 31,
  files: 100_000,
  blobBytes: 2 ** 24,
  ...PATH_LIMITS,
}

/** Formats a limit for messages: the configuration key that raises it, if there is one, and its value. */
export function namedLimit<Limit extends keyof FetchLimits>(limit: Limit, limits: Pick<FetchLimits, Limit>): string {
  return `${LIMIT_NAMES[limit]} (${limits[limit]})`
}

/** The keys of the configuration that raise limits. */
export const LIMIT_KEYS = {
  connectMs: 'limits.fetch.connect_timeout',
  idleMs: 'limits.fetch.idle_timeout',
  totalMs: 'limits.fetch.total_timeout',
  packBytes: 'limits.repository.bytes',
  files: 'limits.repository.files',
  blobBytes: 'limits.skill.bytes',
} as const

const LIMIT_NAMES: Readonly<Record<keyof FetchLimits, string>> = {
  ...LIMIT_KEYS,
  segmentBytes: 'the bytes of a name',
  pathBytes: 'the bytes of a path',
  depth: 'the levels of folders',
}
