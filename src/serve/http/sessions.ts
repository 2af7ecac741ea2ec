import { hash, randomBytes } from 'node:crypto'
import { WHOLE } from '../views.ts'
import type { ViewName } from '../views.ts'
import type { Rooms } from './rooms.ts'
import type { Mark, SessionLog, SessionRecord } from './session-log.ts'
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
  readonly rooms: Pick<Rooms, 'of' | 'has' | 'now' | 'isFull'>
  readonly limits: SessionLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  readonly log: SessionLog
}

/** The sessions of those who see one part of the catalog: all others do not exist there. */
export type SessionsOfView = Pick<Sessions, 'close' | 'use'> & {
  open(principalId?: string): Opened | undefined
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

/** All sessions of the server, the least recently used first. */
export class Sessions {
  readonly #byKey = new Map<string, Used>()
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
    for (const one of alive.slice(-limits.sessions)) {
      const usedAt = now() - one.idleMs
      const session = this.#session(one.key, { principalId: one.principalId, view: one.view ?? WHOLE })
      session.restore(one)
      this.#byKey.set(one.key, { session, usedAt, loggedAt: usedAt })
    }
    // Its client is told that it is over: a limit that is raised again must not bring it back.
    for (const { key } of kept) if (!this.#byKey.has(key)) void log.append({ kind: 'ended', key })
  }

  /** Those of one view. */
  in(view: ViewName): SessionsOfView {
    return {
      open: (principalId) => this.open(principalId, view),
      find: (id, principalId) => this.find(id, principalId, view),
      close: (session) => this.close(session),
      use: (session) => this.use(session),
    }
  }

  /** Opens a session. Idle ones make room; undefined when all of them are in use. */
  open(principalId?: string, view: ViewName = WHOLE): Opened | undefined {
    this.#evict(() => this.#isFull)
    if (this.#isFull) return undefined
    const id = randomBytes(24).toString('base64url')
    const session = this.#session(keyOf(id), { principalId, view })
    const now = this.#parts.now()
    this.#byKey.set(session.key, { session, usedAt: now, loggedAt: now })
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
    if (isToLog) session.logUse()
  }

  /** Ends those of principals that are gone. */
  endThoseOf(isGone: (principalId: string) => boolean): void {
    for (const { session } of this.#byKey.values()) {
      if (session.principalId !== undefined && isGone(session.principalId)) this.close(session)
    }
  }

  close(session: Session): void {
    this.#byKey.delete(session.key)
    session.end()
  }

  /** What is to be done now and then: nobody has to come for the idle ones to be over. */
  sweep(): void {
    const listening = [...this.#byKey.values()].filter(({ session }) => session.isListening)
    for (const { session } of listening) this.use(session)
    this.#evict(() => this.#parts.rooms.isFull)
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
    const tools = { hub, past, log, makeRoom: (asking: Session) => this.#evict(() => rooms.isFull, asking) }
    this.#tools.set(view, tools)
    return tools
  }

  get #isFull(): boolean {
    return this.size >= this.#parts.limits.sessions
  }

  /**
   * Ends what is idle for too long and, as long as there is no room for more, the one that was unused for longest. Those
   * with a stream are in use, and so is the one that asks for room.
   */
  #evict(isFull: () => boolean, asking?: Session): void {
    for (const entry of this.#byKey.values()) {
      if (!isFull() && !this.#isOld(entry)) return
      if (!entry.session.isListening && entry.session !== asking) this.close(entry.session)
    }
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

/** An id has too many random bits to be guessed from its hash. */
function keyOf(id: string): string {
  return hash('sha256', id, 'base64url')
}
