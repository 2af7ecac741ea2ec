import type { ViewName } from '../../view.ts'
import { GuestSession } from './guest-session.ts'
import type { FoundSession, KeptSession, SessionLimits, SessionLog, SessionsElsewhere } from './session-store.ts'

/** The reasons why a session of another process cannot be served now: the store is away, or all places are taken. */
export type NotBrought = 'away' | 'full'

/** The parts of the guests. */
export interface GuestParts {
  readonly elsewhere: SessionsElsewhere
  readonly log: SessionLog
  readonly limits: SessionLimits
  readonly now: () => number
  /** The use of a session is stored so often. */
  readonly logEveryMs: number
  /** Returns the number of the generation that is served now. */
  readonly generation: () => number
}

interface Guest {
  readonly session: GuestSession
  readonly readAt: number
  /** The last request that did not find it fresh. */
  readonly usedAt: number
}

/**
 * The sessions of other processes that send requests to this one. A request never waits for the store if its session is
 * known: one that was read more than a second ago is read again in the background, so that a session that ended elsewhere
 * is served to the first request after that at most. While the store is away, those that are known are served on.
 */
export class GuestSessions {
  /** The least recently read comes first. A guest that is dropped costs one more read. */
  readonly #byKey = new Map<string, Guest>()
  /** The keys of guests that are read in the background. */
  readonly #refreshing = new Set<string>()
  readonly #parts: GuestParts

  constructor(parts: GuestParts) {
    this.#parts = parts
  }

  isFresh(key: string): boolean {
    const guest = this.#byKey.get(key)
    return guest !== undefined && this.#parts.now() - guest.readAt < FRESH_MS
  }

  /** Returns the guest that was read last; `undefined` for one of another principal or view. */
  get(key: string, principalId: string | undefined, view: ViewName): GuestSession | undefined {
    const session = this.#byKey.get(key)?.session
    if (session?.principalId !== principalId || session?.view !== view) return undefined
    return session
  }

  delete(key: string): void {
    this.#byKey.delete(key)
  }

  /** Returns the session. `unknown` if the store cannot be read now, and `forStream` or it was not read before. */
  async read(key: string, forStream: boolean): Promise<GuestSession | 'unknown' | undefined> {
    const { elsewhere, now } = this.#parts
    const known = this.#byKey.get(key)
    if (known !== undefined && !forStream && now() - known.usedAt < QUIET_MS) {
      this.#byKey.set(key, { ...known, usedAt: now() })
      // It rejects only in a way that must end the process.
      void this.#refresh(key, known.session)
      return known.session
    }
    const found = await elsewhere.find(key)
    if (found !== 'unknown') return this.#keep(key, found)
    const guest = this.#byKey.get(key)
    if (guest === undefined || forStream) return 'unknown'
    this.#byKey.set(key, { ...guest, usedAt: now() })
    return guest.session
  }

  async #refresh(key: string, session: GuestSession): Promise<void> {
    if (this.#refreshing.has(key)) return
    this.#refreshing.add(key)
    try {
      const found = await this.#parts.elsewhere.find(key)
      // A request may have ended it meanwhile, or taken it over.
      if (found !== 'unknown' && this.#byKey.get(key)?.session === session) this.#keep(key, found)
    } finally {
      this.#refreshing.delete(key)
    }
  }

  #keep(key: string, found: FoundSession | undefined): GuestSession | undefined {
    const { limits, log, logEveryMs, now, generation } = this.#parts
    this.#byKey.delete(key)
    if (found === undefined || found.idleMs > limits.idleMs) return undefined
    const session = new GuestSession(found, { log, generation })
    if (found.idleMs >= logEveryMs) session.logUse()
    this.#byKey.set(key, { session, readAt: now(), usedAt: now() })
    const [oldest] = this.#byKey.keys()
    if (this.#byKey.size > limits.sessions && oldest !== undefined) this.#byKey.delete(oldest)
    return session
  }

  /** Makes this process the owner of a session that `read` returned. */
  async take(key: string, add: (session: KeptSession) => void): Promise<NotBrought | undefined> {
    if (!(await this.#parts.elsewhere.take(key, add))) return 'away'
    this.#byKey.delete(key)
    return undefined
  }
}

/** A guest that was read more recently is not read again. */
const FRESH_MS = 1_000

/** A guest without requests for so long is read before it is served: the session may have ended long ago. */
const QUIET_MS = 10_000
