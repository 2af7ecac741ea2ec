import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Choices, ViewName } from '../../view.ts'

/** The limits on the number and idle time of sessions. */
export interface SessionLimits {
  readonly sessions: number
  /** A session without a stream ends after this time without use. */
  readonly idleMs: number
}

/** The identity of a catalog that sessions were notified of. */
export interface NotifiedCatalog extends Pick<Catalog, 'generation' | 'digest'> {
  /** The digest of its forms. `undefined` if it is unknown what sessions were notified of. */
  readonly forms?: string | undefined
  /** The selection digests of its packs. `undefined` if there were no packs. */
  readonly packs?: Choices | undefined
  /** The digests of the catalogs of the rings after the first. `undefined` if there are no rings. */
  readonly rings?: Readonly<Record<string, string>> | undefined
  /** The data to rebuild the catalog. It can be long, and is written once for all sessions. */
  readonly sources?: readonly (readonly string[])[] | undefined
}

/** The digest of the catalog of a ring; that of the first ring without one. `undefined` if the mark does not have it. */
export function markedDigestIn({ digest, rings }: NotifiedCatalog, ring: string | undefined): string | undefined {
  return ring === undefined ? digest : rings?.[ring]
}

/** Returns the short form of the mark that is written for one session. */
export function markNameOf({ generation, digest, forms, packs, rings }: NotifiedCatalog): NotifiedCatalog {
  return { generation, digest, forms, packs, ...(rings !== undefined && { rings }) }
}

/** The part of a session that outlives the process. */
export interface KeptSession {
  /** The hash of its id. The id itself opens the session for any client, and is never stored. */
  readonly key: string
  /** The owner of the session, if it is known. */
  readonly principalId?: string
  /** The network that opened the session, if the owner is unknown: the session counts for its share. */
  readonly address?: ShareHolder
  /** The view of the session. `undefined`: everything. */
  readonly view?: ViewName
  /** The name that the client gave itself. `undefined`: it gave none. */
  readonly client?: string
  /** The negotiated revision. `undefined`: it is not known. */
  readonly revision?: string
  /** Milliseconds since the last use, exact to a tenth of the idle limit. */
  readonly idleMs: number
  /** The subscribed URIs in the client's spelling, each with its canonical form. */
  readonly subscriptions: ReadonlyMap<string, string>
  /** The last catalog whose changes the session was completely notified of. */
  readonly told: NotifiedCatalog
}

/**
 * An event in the life of sessions. No record is written when a session is notified: a session that missed nothing is
 * at the latest `told` mark. Only a session that missed something has a mark of its own.
 */
export type SessionRecord =
  /** `told`: the last mark, if the session has missed something since. */
  | ({ readonly kind: 'opened'; readonly told?: NotifiedCatalog } & Omit<KeptSession, 'told'>)
  /** `generation`: that of the catalog in which a guest saw the resource. */
  | {
      readonly kind: 'subscribed'
      readonly key: string
      readonly asked: string
      readonly canonical: string
      readonly generation?: number
    }
  | { readonly kind: 'unsubscribed'; readonly key: string; readonly asked: string }
  | { readonly kind: 'used'; readonly key: string; readonly idleMs: number }
  | { readonly kind: 'missed'; readonly key: string; readonly told: NotifiedCatalog }
  | { readonly kind: 'caught-up'; readonly key: string }
  | { readonly kind: 'ended'; readonly key: string }
  /** This catalog is served, and the sessions were notified of it. */
  | { readonly kind: 'told'; readonly mark: NotifiedCatalog }

/** Stores sessions across a restart. A write that the disk refuses is not an error here: that event is lost. */
export interface SessionLog {
  /**
   * Returns the stored sessions. Call it once, before any append. `all` returns the current sessions as records at any
   * later time. The log writes them first, and again whenever they are much shorter than the log.
   */
  load(all: () => Iterable<SessionRecord>): Promise<readonly KeptSession[]>
  /** Resolves when the record is on disk, or is known not to get there. */
  append(record: SessionRecord): Promise<void>
  /**
   * Returns a catalog that was served earlier; `undefined` if it is no longer known. `ring`: a ring after the first, whose
   * catalog it is.
   */
  catalogOf(mark: NotifiedCatalog, ring?: string): Promise<Catalog | undefined>
  /** The sessions of all processes of the hub; `undefined` if this process is the only one. */
  readonly elsewhere?: SessionsElsewhere
}

/**
 * The stored sessions that several processes share. Each session belongs to one of them, its owner, which alone notifies
 * its client:
 * - The process that opened the session owns it, until its client opens a stream at another one.
 * - Any process serves requests of the session, as a guest: it changes the stored session, and the owner applies that.
 * - A process with a request for the stream takes the session over. The owner releases it first: it ends its own stream,
 *   and writes the last catalog that the session was notified of. An owner that does not answer is overruled.
 * - The end of a session at any process is the end of the stored session, and so at all of them.
 */
export interface SessionsElsewhere {
  /** Reports to `here` from now on what other processes do with its sessions. */
  attach(here: SessionsHere): void
  /** Reads a session. Returns `unknown` if the store cannot be read now. */
  find(key: string): Promise<FoundSession | 'unknown' | undefined>
  /**
   * Makes this process the owner, and passes the session to `add` before any other process can take it again. Returns
   * false if the store cannot be changed now.
   */
  take(key: string, add: (session: KeptSession) => void): Promise<boolean>
  /**
   * Removes sessions of any process that were idle for longer, and of those of dead processes the least recently used
   * beyond the limit. Rejects only in a way that must end the process.
   */
  removeIdle(limits: SessionLimits): Promise<void>
}

/** A stored session, without its subscriptions. */
export interface FoundSession extends Omit<KeptSession, 'subscriptions' | 'told'> {
  /** The number of its subscriptions. */
  readonly subscribed: number
}

/** A subscription that was made at a guest. */
export interface ForeignSubscription {
  readonly asked: string
  readonly canonical: string
  /** The generation that the guest served then. */
  readonly generation: number | undefined
}

/** The sessions that this process owns. */
export interface SessionsHere {
  /** Applies a subscription that the client made at another process. */
  subscribed(key: string, subscription: ForeignSubscription): void
  unsubscribed(key: string, asked: string): void
  /** Applies all subscriptions that are stored now. */
  adopt(key: string, subscriptions: ReadonlyMap<string, string>): void
  used(key: string): void
  /** Drops a session that another process owns now, or that ended at one. */
  release(key: string): void
}

/** The log of a server without persistent sessions. */
export const NO_SESSION_LOG: SessionLog = {
  load: async () => [],
  append: async () => {},
  catalogOf: async () => undefined,
}

/** Returns the sessions that exist after the records; the least recently used comes first. */
export function sessionsAfter(records: Iterable<SessionRecord>): KeptSession[] {
  const sessions = new Map<string, Standing>()
  const marks = new Map<string, NotifiedCatalog>()
  let latest: NotifiedCatalog = NOTHING_TOLD
  for (const record of records) {
    if (record.kind === 'told') {
      latest = record.mark
      marks.set(keyOf(latest), latest)
    } else if (record.kind === 'opened') sessions.set(record.key, standingOf(record))
    else if (record.kind === 'ended') sessions.delete(record.key)
    else {
      const session = sessions.get(record.key)
      if (session !== undefined) applyHappening(session, record)
    }
  }
  const kept: KeptSession[] = []
  for (const [key, { told = latest, ...session }] of sessions) {
    kept.push({ key, ...session, told: marks.get(keyOf(told)) ?? told })
  }
  return kept.toSorted((a, b) => b.idleMs - a.idleMs)
}

function keyOf({ digest, forms, packs, rings }: NotifiedCatalog): string {
  return `${digest} ${forms} ${JSON.stringify([packs, rings])}`
}

interface Standing {
  readonly principalId?: string
  readonly address?: ShareHolder
  readonly view?: ViewName
  readonly client?: string
  readonly revision?: string
  idleMs: number
  readonly subscriptions: Map<string, string>
  told: NotifiedCatalog | undefined
}

function standingOf(record: SessionRecord & { kind: 'opened' }): Standing {
  const { principalId, address, view, client, revision, idleMs, subscriptions, told } = record
  return {
    ...(principalId !== undefined && { principalId }),
    ...(address !== undefined && { address }),
    ...(view !== undefined && { view }),
    ...(client !== undefined && { client }),
    ...(revision !== undefined && { revision }),
    idleMs,
    subscriptions: new Map(subscriptions),
    told,
  }
}

type Happening = Exclude<SessionRecord, { readonly kind: 'told' | 'opened' | 'ended' }>

function applyHappening(session: Standing, record: Happening): void {
  switch (record.kind) {
    case 'subscribed':
      session.subscriptions.set(record.asked, record.canonical)
      return
    case 'unsubscribed':
      session.subscriptions.delete(record.asked)
      return
    case 'used':
      session.idleMs = record.idleMs
      return
    case 'missed':
      session.told = record.told
      return
    case 'caught-up':
      session.told = undefined
  }
}

/** The mark of sessions of which it is unknown what they were notified of. */
export const NOTHING_TOLD: NotifiedCatalog = { generation: 0, digest: '' }
