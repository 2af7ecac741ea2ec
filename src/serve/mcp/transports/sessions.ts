import { hash, randomBytes } from 'node:crypto'
import { NO_HOLDER, FairShares, holderOf } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import { WHOLE } from '../../view.ts'
import type { ViewName } from '../../view.ts'
import type { SubscriptionHolder } from '../events/subscriptions.ts'
import { GuestSession } from './guest-session.ts'
import { GuestSessions } from './guest-sessions.ts'
import type { NotBrought } from './guest-sessions.ts'
import type {
  ForeignSubscription,
  KeptSession,
  NotifiedCatalog,
  SessionLimits,
  SessionLog,
  SessionRecord,
} from './session-store.ts'
import { Session } from './session.ts'
import type { SessionOwner, SessionTools } from './session.ts'
import type { ViewHubs } from './view-hubs.ts'

/** The parts of the session store. */
export interface SessionParts {
  readonly rooms: Pick<ViewHubs, 'of' | 'has' | 'admit' | 'now' | 'spent'>
  readonly limits: SessionLimits
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  readonly log: SessionLog
}

/** The sessions of one view; it does not see the others. */
export type SessionsOfView = Pick<Sessions, 'close' | 'use' | 'isToBring'> & {
  open(principalId?: string, address?: ShareHolder): OpenedSession | undefined
  find(id: string, principalId?: string): Session | GuestSession | undefined
  bring(id: string, principalId: string | undefined, forStream: boolean): Promise<NotBrought | undefined>
}

/** A new session, with the id for its client. */
export interface OpenedSession {
  readonly id: string
  readonly session: Session
}

interface Brought {
  readonly id: string
  readonly principalId: string | undefined
  readonly view: ViewName
  readonly forStream: boolean
}

interface Used {
  readonly session: Session
  readonly usedAt: number
  /** The last use that is in the log. */
  readonly loggedAt: number
}

/**
 * All sessions of the server; the least recently used comes first. Each counts for its holder: if all places are taken,
 * the holder with the most loses one.
 */
export class Sessions implements Disposable {
  readonly #byKey = new Map<string, Used>()
  readonly #shares = new FairShares<Session>()
  readonly #parts: SessionParts
  /** One value for all sessions of a view, because there are thousands of sessions. */
  readonly #tools = new Map<ViewName, SessionTools>()
  readonly #guests: GuestSessions | undefined
  readonly #sweeping = setInterval(() => this.sweep(), SWEEP_MS).unref()

  constructor(parts: SessionParts) {
    this.#parts = parts
    const { log, limits, now } = parts
    if (log.elsewhere === undefined) return
    this.#guests = new GuestSessions({
      elsewhere: log.elsewhere,
      log,
      limits,
      now,
      logEveryMs: this.#logEveryMs,
      generation: () => parts.rooms.now.generation,
    })
    log.elsewhere.attach({
      subscribed: (key, subscription) => this.#adopt(key, [subscription]),
      unsubscribed: (key, asked) => this.#byKey.get(key)?.session.drop(asked),
      adopt: (key, subscriptions) => this.#adoptAll(key, subscriptions),
      used: (key) => this.#used(key),
      release: (key) => this.#release(key),
    })
  }

  get size(): number {
    return this.#byKey.size
  }

  /** Restores the sessions of the previous process. Call it once, before any other method. */
  async restore(): Promise<void> {
    const { log, limits, now, rooms } = this.#parts
    const kept = await log.load(() => this.#records())
    const alive = kept.filter(({ idleMs, view = WHOLE }) => idleMs <= limits.idleMs && rooms.has(view))
    for (const one of alive) {
      const { key, principalId, address, view = WHOLE } = one
      if (!rooms.admit(view, holderOf(principalId, address))) continue
      const usedAt = now() - one.idleMs
      const session = this.#session(key, { principalId, address, view })
      session.restore(one)
      this.#add(session, usedAt)
    }
    // The limit may be lower now. The shares are the previous ones.
    while (this.size > limits.sessions && this.#endOneFor(this.#shares.largest ?? NO_HOLDER));
    // Records these sessions as ended, because their clients are told so: a higher limit later must not revive them.
    for (const { key } of kept) if (!this.#byKey.has(key)) void log.append({ kind: 'ended', key })
  }

  /** Returns the sessions of one view. */
  in(view: ViewName): SessionsOfView {
    return {
      open: (principalId, address) => this.open(principalId, address, view),
      find: (id, principalId) => this.find(id, principalId, view),
      close: (session) => this.close(session),
      use: (session) => this.use(session),
      isToBring: (id, forStream) => this.isToBring(id, forStream),
      bring: async (id, principalId, forStream) => this.bring({ id, principalId, view, forStream }),
    }
  }

  /**
   * Opens a session. The holder with the most makes room. `undefined` if the session's own holder has its share, all in
   * use. `address`: the network of the client, if no principal is known.
   */
  open(principalId?: string, address?: ShareHolder, view: ViewName = WHOLE): OpenedSession | undefined {
    this.#endOld()
    const holder = holderOf(principalId, address)
    while (this.#isFull) if (!this.#endOneFor(holder)) return undefined
    const id = randomBytes(24).toString('base64url')
    const session = this.#session(keyOf(id), { principalId, address, view })
    this.#add(session, this.#parts.now())
    return { id, session }
  }

  /**
   * Returns the session with the id, and counts this as a use. `undefined` for a session of another principal or view.
   * A session that was idle for too long ends here.
   */
  find(id: string, principalId?: string, view: ViewName = WHOLE): Session | GuestSession | undefined {
    const key = keyOf(id)
    const entry = this.#byKey.get(key)
    if (entry === undefined) return this.#guests?.get(key, principalId, view)
    const { session } = entry
    if (session.principalId !== principalId || session.view !== view) return undefined
    if (this.#isOld(entry) && !session.isListening) {
      this.close(session)
      return undefined
    }
    this.use(session)
    return session
  }

  /** True if another process may have the session, or may have ended it. */
  isToBring(id: string, forStream: boolean): boolean {
    if (this.#guests === undefined || !ID.test(id)) return false
    const key = keyOf(id)
    return !this.#byKey.has(key) && (forStream || !this.#guests.isFresh(key))
  }

  /**
   * Brings a session that another process may have, so that `find` returns it: for its stream as one of this process, for
   * other requests as a guest. Returns why that is not possible now; `undefined` also if there is no such session.
   */
  async bring({ id, principalId, view, forStream }: Brought): Promise<NotBrought | undefined> {
    if (this.#guests === undefined || !this.isToBring(id, forStream)) return undefined
    const key = keyOf(id)
    const found = await this.#guests.read(key, forStream)
    if (found === 'unknown') return 'away'
    if (found === undefined || !forStream) return undefined
    // For any other client the session does not exist, so that it cannot move it either.
    if (found.principalId !== principalId || found.view !== view) return undefined
    this.#endOld()
    while (this.#isFull) if (!this.#endOneFor(found.holder)) return 'full'
    return this.#guests.take(key, (kept) => this.#takeOver(kept))
  }

  #takeOver(kept: KeptSession): void {
    const { key, principalId, address, view = WHOLE } = kept
    if (this.#byKey.has(key)) return
    const session = this.#session(key, { principalId, address, view })
    session.restore(kept)
    this.#add(session, this.#parts.now())
    // From now on it was notified of what all sessions of this process were.
    if (session.told === undefined) void this.#parts.log.append({ kind: 'caught-up', key })
  }

  #adopt(key: string, subscriptions: Iterable<ForeignSubscription>): void {
    const session = this.#byKey.get(key)?.session
    if (session === undefined) return
    for (const { asked, canonical, generation } of subscriptions) {
      if (session.adopt(asked, canonical, generation)) continue
      // The client was answered that it is subscribed. It learns by the end of the session that it is not.
      this.close(session)
      return
    }
  }

  #adoptAll(key: string, subscriptions: ReadonlyMap<string, string>): void {
    const session = this.#byKey.get(key)?.session
    if (session === undefined) return
    for (const asked of session.subscribed) if (!subscriptions.has(asked)) session.drop(asked)
    this.#adopt(
      key,
      [...subscriptions].map(([asked, canonical]) => ({ asked, canonical, generation: undefined })),
    )
  }

  #used(key: string): void {
    const entry = this.#byKey.get(key)
    if (entry !== undefined) this.use(entry.session)
  }

  #release(key: string): void {
    const session = this.#byKey.get(key)?.session
    if (session === undefined) return
    this.#byKey.delete(key)
    this.#shares.release(session.holder, session)
    session.release()
  }

  /** Marks a session as the most recently used. The end of a stream is a use: the client may come back for another. */
  use(session: Session | GuestSession): void {
    const entry = this.#byKey.get(session.key)
    if (entry === undefined || session instanceof GuestSession) return
    const now = this.#parts.now()
    const isToLog = now - entry.loggedAt >= this.#logEveryMs
    this.#byKey.delete(session.key)
    this.#byKey.set(session.key, { session, usedAt: now, loggedAt: isToLog ? now : entry.loggedAt })
    this.#shares.use(session.holder, session)
    if (isToLog) session.logUse()
  }

  /** Ends the sessions of principals that no longer exist. */
  endThoseOf(isGone: (principalId: string) => boolean): void {
    for (const { session } of this.#byKey.values()) {
      if (session.principalId !== undefined && isGone(session.principalId)) this.close(session)
    }
  }

  /** True if any session has the view. */
  isOpenIn(view: ViewName): boolean {
    for (const { session } of this.#byKey.values()) if (session.view === view) return true
    return false
  }

  endThoseIn(view: ViewName): void {
    for (const { session } of this.#byKey.values()) if (session.view === view) this.close(session)
    this.#tools.delete(view)
  }

  close(session: Session | GuestSession): void {
    if (session instanceof GuestSession) this.#guests?.delete(session.key)
    else {
      this.#byKey.delete(session.key)
      this.#shares.release(session.holder, session)
    }
    session.end()
  }

  /** Periodic work: it marks sessions with a stream as used, and ends idle ones even without requests. */
  sweep(): void {
    const listening = [...this.#byKey.values()].filter(({ session }) => session.isListening)
    for (const { session } of listening) {
      this.use(session)
      // A catalog that is not served here by now may never be: its process may have published it and lost the store.
      session.lookAgain(true)
    }
    this.#endOld()
    // What cannot be removed now is removed by a later sweep.
    void this.#parts.log.elsewhere?.removeIdle(this.#parts.limits)
  }

  /**
   * Ends sessions of a holder until all subscriptions fit in the limit: those without a stream first, and never
   * `asking` itself. Sessions with a stream end only if they belong to another holder.
   */
  freeSubscriptionsOf(holder: ShareHolder, asking: SubscriptionHolder): void {
    const isOwn = holder === asking.holder
    for (const isInUse of isOwn ? [false] : [false, true]) {
      for (const session of this.#shares.placesOf(holder)) {
        if (!this.#parts.rooms.spent.isAll) return
        if (session !== asking && session.hasSubscriptions && session.isListening === isInUse) this.close(session)
      }
    }
  }

  /** Records that another catalog is served, and that all reachable sessions were notified. */
  told(before: NotifiedCatalog, now: NotifiedCatalog): void {
    for (const { session } of this.#byKey.values()) session.logMissed(before)
    // The write is not awaited: a repeated notification does no harm.
    void this.#parts.log.append({ kind: 'told', mark: now })
    for (const { session } of this.#byKey.values()) session.logCaughtUp()
    if (this.#guests === undefined) return
    for (const { session } of this.#byKey.values()) session.lookAgain()
  }

  #session(key: string, belonging: SessionOwner): Session {
    return new Session(key, belonging, this.#toolsIn(belonging.view))
  }

  #toolsIn(view: ViewName): SessionTools {
    const known = this.#tools.get(view)
    if (known !== undefined) return known
    const { rooms, log } = this.#parts
    const { hub, past } = rooms.of(view)
    const tools = { hub, past, log }
    this.#tools.set(view, tools)
    return tools
  }

  get #isFull(): boolean {
    return this.size >= this.#parts.limits.sessions
  }

  #add(session: Session, usedAt: number): void {
    this.#byKey.set(session.key, { session, usedAt, loggedAt: usedAt })
    this.#shares.hold(session.holder, session)
  }

  /** Ends sessions that were idle for too long. Sessions with a stream are in use. */
  #endOld(): void {
    for (const entry of this.#byKey.values()) {
      if (!this.#isOld(entry)) return
      if (!entry.session.isListening) this.close(entry.session)
    }
  }

  /** Ends one session to make room for another of the holder. Returns false if none may end. */
  #endOneFor(holder: ShareHolder): boolean {
    const session = this.#leastNeeded(holder)
    if (session !== undefined) this.close(session)
    return session !== undefined
  }

  /**
   * Selects a session of the holder that must give one up: the least recently used without a stream, or else the least
   * recently used of all. If no holder must, one without a stream: of this holder, or if it has none, of any.
   */
  #leastNeeded(holder: ShareHolder): Session | undefined {
    const giver = this.#shares.giverTo(holder)
    if (giver !== undefined) return this.#idleOf(giver) ?? firstOf(this.#shares.placesOf(giver))
    if (this.#shares.countOf(holder) > 0) return this.#idleOf(holder)
    // There are more holders than places.
    for (const { session } of this.#byKey.values()) if (!session.isListening) return session
    return undefined
  }

  #idleOf(holder: ShareHolder): Session | undefined {
    for (const session of this.#shares.placesOf(holder)) if (!session.isListening) return session
    return undefined
  }

  #isOld({ usedAt }: Used): boolean {
    return this.#parts.now() - usedAt > this.#parts.limits.idleMs
  }

  /** The interval is short enough that a restart hardly ages a session, and long enough to spare the disk. */
  get #logEveryMs(): number {
    return Math.min(this.#parts.limits.idleMs / 10, 86_400_000)
  }

  *#records(): Iterable<SessionRecord> {
    // The long part of a mark is written once, not with each session.
    const older = new Set([...this.#byKey.values()].map(({ session }) => session.told))
    for (const mark of older) if (mark?.sources !== undefined) yield { kind: 'told', mark }
    yield { kind: 'told', mark: this.#parts.rooms.now }
    const now = this.#parts.now()
    for (const { session, usedAt } of this.#byKey.values()) {
      if (session.isKept) yield session.record(session.isListening ? 0 : now - usedAt)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeping)
  }
}

const SWEEP_MS = 60_000

function firstOf<Value>(values: Iterable<Value>): Value | undefined {
  const [first] = values
  return first
}

/** The form of the ids that `open` makes. */
const ID = /^[\w-]{32}$/

/** An id has too many random bits to be guessed from its hash. */
function keyOf(id: string): string {
  return hash('sha256', id, 'base64url')
}
