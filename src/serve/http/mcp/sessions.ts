import { hash, randomBytes } from 'node:crypto'
import { WHOLE } from '../../views.ts'
import type { ViewName } from '../../views.ts'
import { NO_HOLDER, Shares, holderOf } from '../../fair-shares.ts'
import type { Holder } from '../../fair-shares.ts'
import type { Asking } from '../../mcp/events/subscriptions.ts'
import type { Rooms } from './view-hubs.ts'
import type { Mark, SessionLog, SessionRecord } from './session-store.ts'
import { Session } from './session.ts'
import type { Belonging, SessionTools } from './session.ts'

/** How many sessions there may be, and for how long. */
export interface SessionLimits {
  readonly sessions: number
  /** A session without a stream that was not used for so long is over. */
  readonly idleMs: number
}

/** What sessions are made with. */
export interface SessionParts {
  readonly rooms: Pick<Rooms, 'of' | 'has' | 'admit' | 'now' | 'spent'>
  readonly limits: SessionLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  readonly log: SessionLog
}

/** The sessions of those who see one part of the catalog: all others do not exist there. */
export type SessionsOfView = Pick<Sessions, 'close' | 'use'> & {
  open(principalId?: string, address?: Holder): Opened | undefined
  find(id: string, principalId?: string): Session | undefined
}

/** A session that was just opened, with the id that its client is to be given. */
export interface Opened {
  readonly id: string
  readonly session: Session
}

interface Used {
  readonly session: Session
  readonly usedAt: number
  /** The last use that the log knows of. */
  readonly loggedAt: number
}

/** All sessions of the server, the least recently used first. Each counts for its holder: when all places are taken, the holder of most gives one up. */
export class Sessions {
  readonly #byKey = new Map<string, Used>()
  readonly #shares = new Shares<Session>()
  readonly #parts: SessionParts
  /** One for all of a view: there are thousands of sessions. */
  readonly #tools = new Map<ViewName, SessionTools>()

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#byKey.size
  }

  /** Goes on with the sessions that there were when the process before this one ended. To be called once, before all else. */
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
    // The limit may be a lower one now: the shares are those of before.
    while (this.size > limits.sessions && this.#endOneFor(this.#shares.largest ?? NO_HOLDER));
    // Its client is told that it is over: a limit that is raised again must not bring it back.
    for (const { key } of kept) if (!this.#byKey.has(key)) void log.append({ kind: 'ended', key })
  }

  /** Those of one view. */
  in(view: ViewName): SessionsOfView {
    return {
      open: (principalId, address) => this.open(principalId, address, view),
      find: (id, principalId) => this.find(id, principalId, view),
      close: (session) => this.close(session),
      use: (session) => this.use(session),
    }
  }

  /**
   * Opens a session. The holder of most makes room; undefined when its own holder has its share, and all of that in use.
   * `address`: the network that its client asks from, where no principal is known.
   */
  open(principalId?: string, address?: Holder, view: ViewName = WHOLE): Opened | undefined {
    this.#endOld()
    const holder = holderOf(principalId, address)
    while (this.#isFull) if (!this.#endOneFor(holder)) return undefined
    const id = randomBytes(24).toString('base64url')
    const session = this.#session(keyOf(id), { principalId, address, view })
    this.#add(session, this.#parts.now())
    return { id, session }
  }

  /** The session of an id, which is used by that; undefined for another's. One that was idle for too long is over, though nothing had ended it. */
  find(id: string, principalId?: string, view: ViewName = WHOLE): Session | undefined {
    const entry = this.#byKey.get(keyOf(id))
    if (entry === undefined) return undefined
    const { session } = entry
    if (session.principalId !== principalId || session.view !== view) return undefined
    if (this.#isOld(entry) && !session.isListening) {
      this.close(session)
      return undefined
    }
    this.use(session)
    return session
  }

  /** Makes a session the one used last. A stream that ends is a use: the client may come back for another. */
  use(session: Session): void {
    const entry = this.#byKey.get(session.key)
    if (entry === undefined) return
    const now = this.#parts.now()
    const isToLog = now - entry.loggedAt >= this.#logEveryMs
    this.#byKey.delete(session.key)
    this.#byKey.set(session.key, { session, usedAt: now, loggedAt: isToLog ? now : entry.loggedAt })
    this.#shares.use(session.holder, session)
    if (isToLog) session.logUse()
  }

  /** Ends those of principals that are gone. */
  endThoseOf(isGone: (principalId: string) => boolean): void {
    for (const { session } of this.#byKey.values()) {
      if (session.principalId !== undefined && isGone(session.principalId)) this.close(session)
    }
  }

  /** Whether any session sees so. */
  isOpenIn(view: ViewName): boolean {
    for (const { session } of this.#byKey.values()) if (session.view === view) return true
    return false
  }

  endThoseIn(view: ViewName): void {
    for (const { session } of this.#byKey.values()) if (session.view === view) this.close(session)
    this.#tools.delete(view)
  }

  close(session: Session): void {
    this.#byKey.delete(session.key)
    this.#shares.release(session.holder, session)
    session.end()
  }

  /** What is to be done now and then: nobody has to come for the idle ones to be over. */
  sweep(): void {
    const listening = [...this.#byKey.values()].filter(({ session }) => session.isListening)
    for (const { session } of listening) this.use(session)
    this.#endOld()
  }

  /**
   * Ends sessions of a holder until its subscriptions and those of all others have room: those that are unused first, and never
   * the one that asks for it. Of another holder than that one's also those with a stream.
   */
  freeSubscriptionsOf(holder: Holder, asking: Asking): void {
    const isOwn = holder === asking.holder
    for (const isInUse of isOwn ? [false] : [false, true]) {
      for (const session of this.#shares.placesOf(holder)) {
        if (!this.#parts.rooms.spent.isAll) return
        if (session !== asking && session.hasSubscriptions && session.isListening === isInUse) this.close(session)
      }
    }
  }

  /** Another catalog is served, and all that can be reached were told. */
  told(before: Mark, now: Mark): void {
    for (const { session } of this.#byKey.values()) session.logMissed(before)
    // Nobody waits for that: a session that hears of something twice has lost nothing.
    void this.#parts.log.append({ kind: 'told', mark: now })
    for (const { session } of this.#byKey.values()) session.logCaughtUp()
  }

  #session(key: string, belonging: Belonging): Session {
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

  /** Ends what is idle for too long. Those with a stream are in use. */
  #endOld(): void {
    for (const entry of this.#byKey.values()) {
      if (!this.#isOld(entry)) return
      if (!entry.session.isListening) this.close(entry.session)
    }
  }

  /** Ends one session to make room for one more of a holder. False where there is none that should go. */
  #endOneFor(holder: Holder): boolean {
    const session = this.#leastNeeded(holder)
    if (session !== undefined) this.close(session)
    return session !== undefined
  }

  /** Of the holder that gives, the one that was unused for longest; if all of them are in use, the one opened first. */
  #leastNeeded(holder: Holder): Session | undefined {
    const giver = this.#shares.giverTo(holder)
    if (giver !== undefined) return this.#idleOf(giver) ?? firstOf(this.#shares.placesOf(giver))
    if (this.#shares.countOf(holder) > 0) return this.#idleOf(holder)
    // There are more holders than places.
    for (const { session } of this.#byKey.values()) if (!session.isListening) return session
    return undefined
  }

  #idleOf(holder: Holder): Session | undefined {
    for (const session of this.#shares.placesOf(holder)) if (!session.isListening) return session
    return undefined
  }

  #isOld({ usedAt }: Used): boolean {
    return this.#parts.now() - usedAt > this.#parts.limits.idleMs
  }

  /** Often enough that a restart makes a session hardly older than it is, and seldom enough to let disks rest. */
  get #logEveryMs(): number {
    return Math.min(this.#parts.limits.idleMs / 10, 86_400_000)
  }

  *#records(): Iterable<SessionRecord> {
    // What is long of a mark is not written with each session.
    const older = new Set([...this.#byKey.values()].map(({ session }) => session.told))
    for (const mark of older) if (mark?.sources !== undefined) yield { kind: 'told', mark }
    yield { kind: 'told', mark: this.#parts.rooms.now }
    const now = this.#parts.now()
    for (const { session, usedAt } of this.#byKey.values()) {
      if (session.isKept) yield session.record(session.isListening ? 0 : now - usedAt)
    }
  }
}

function firstOf<Value>(values: Iterable<Value>): Value | undefined {
  const [first] = values
  return first
}

/** An id has too many random bits to be guessed from its hash. */
function keyOf(id: string): string {
  return hash('sha256', id, 'base64url')
}
