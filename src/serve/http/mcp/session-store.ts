import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Holder } from '../../fair-shares.ts'
import type { Choices, ViewName } from '../../views.ts'

/** What was served when somebody was told of it. */
export interface Mark extends Pick<Catalog, 'generation' | 'digest'> {
  /** In which forms. Undefined where an older version wrote it. */
  readonly forms?: string | undefined
  /** What the packs chose by. Undefined where an older version wrote it, or there were none. */
  readonly packs?: Choices | undefined
  /** What the catalog can be made of again. It can be long, and is written once for all sessions. */
  readonly sources?: readonly (readonly string[])[] | undefined
}

/** The mark as it is written for one session. */
export function nameOf({ generation, digest, forms, packs }: Mark): Mark {
  return { generation, digest, forms, packs }
}

/** What of a session outlives the process. */
export interface KeptSession {
  /** What its id hashes to. The id itself opens the session to whoever has it, and is written nowhere. */
  readonly key: string
  /** Whose it is, where that is known. */
  readonly principalId?: string
  /** The network that it was opened from, where that is not: whose share it is of. */
  readonly address?: Holder
  /** What it sees of the catalog. Undefined: everything. */
  readonly view?: ViewName
  /** Milliseconds since it was last used, give or take a tenth of the time that it may idle. */
  readonly idleMs: number
  /** The URIs that it subscribed to, as the client wrote them, each with its canonical form. */
  readonly subscriptions: ReadonlyMap<string, string>
  /** The last catalog whose changes it was all told of. */
  readonly told: Mark
}

/**
 * Something that happened to sessions. Nothing is written when one is told: those that missed nothing are told of whatever
 * is the latest, and only one that missed something has a catalog of its own that it was told of last.
 */
export type SessionRecord =
  /** `told`: it missed something since. */
  | ({ readonly kind: 'opened'; readonly told?: Mark } & Omit<KeptSession, 'told'>)
  | { readonly kind: 'subscribed'; readonly key: string; readonly asked: string; readonly canonical: string }
  | { readonly kind: 'unsubscribed'; readonly key: string; readonly asked: string }
  | { readonly kind: 'used'; readonly key: string; readonly idleMs: number }
  | { readonly kind: 'missed'; readonly key: string; readonly told: Mark }
  | { readonly kind: 'caught-up'; readonly key: string }
  | { readonly kind: 'ended'; readonly key: string }
  /** This is served, and told of. */
  | { readonly kind: 'told'; readonly mark: Mark }

/** Where sessions are remembered over a restart. What the disk refuses is no error here: it is not remembered then. */
export interface SessionLog {
  /**
   * The sessions that there were. To be called once, before anything is appended. `all` says at any later moment, in
   * records, what sessions there are then: that is written first, and again whenever it is much shorter.
   */
  load(all: () => Iterable<SessionRecord>): Promise<readonly KeptSession[]>
  /** Resolves when the record is on the disk, or when it is known that it does not get there. */
  append(record: SessionRecord): Promise<void>
  /** A catalog that was served once; undefined where that is not known any more. */
  catalogOf(mark: Mark): Promise<Catalog | undefined>
}

/** Where nothing is to outlive the process. */
export const NO_SESSION_LOG: SessionLog = {
  load: async () => [],
  append: async () => {},
  catalogOf: async () => undefined,
}

/** What sessions there are after all that, the least recently used first. */
export function sessionsAfter(records: Iterable<SessionRecord>): KeptSession[] {
  const sessions = new Map<string, Standing>()
  const marks = new Map<string, Mark>()
  let latest: Mark = NOTHING_TOLD
  for (const record of records) {
    if (record.kind === 'told') {
      latest = record.mark
      marks.set(keyOf(latest), latest)
    } else if (record.kind === 'opened') sessions.set(record.key, standingOf(record))
    else if (record.kind === 'ended') sessions.delete(record.key)
    else {
      const session = sessions.get(record.key)
      if (session !== undefined) happen(session, record)
    }
  }
  const kept: KeptSession[] = []
  for (const [key, { told = latest, ...session }] of sessions) {
    kept.push({ key, ...session, told: marks.get(keyOf(told)) ?? told })
  }
  return kept.toSorted((a, b) => b.idleMs - a.idleMs)
}

function keyOf({ digest, forms, packs }: Mark): string {
  return `${digest} ${forms} ${JSON.stringify(packs)}`
}

interface Standing {
  readonly principalId?: string
  readonly address?: Holder
  readonly view?: ViewName
  idleMs: number
  readonly subscriptions: Map<string, string>
  told: Mark | undefined
}

function standingOf(record: SessionRecord & { kind: 'opened' }): Standing {
  const { principalId, address, view, idleMs, subscriptions, told } = record
  return {
    ...(principalId !== undefined && { principalId }),
    ...(address !== undefined && { address }),
    ...(view !== undefined && { view }),
    idleMs,
    subscriptions: new Map(subscriptions),
    told,
  }
}

type Happening = Exclude<SessionRecord, { readonly kind: 'told' | 'opened' | 'ended' }>

function happen(session: Standing, record: Happening): void {
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

const NOTHING_TOLD: Mark = { generation: 0, digest: '' }
