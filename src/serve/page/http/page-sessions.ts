import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../../principal.ts'

/** A session as other processes of the hub know it. */
export interface SharedPageSession {
  readonly principal: Principal
  /** The time until its end. */
  readonly leftMs: number
}

/**
 * The page sessions that the processes of one hub share, by their names. If they cannot be reached, each process goes on
 * with those that it knows; no call rejects for that.
 */
export interface SharedPageSessions {
  /** Makes a new session known to the other processes. Resolves with false if only this one knows it. */
  save(name: string, principal: Principal, leftMs: number): Promise<boolean>
  /** Returns those of the named sessions that are open. */
  find(names: readonly string[]): Promise<ReadonlyMap<string, SharedPageSession>>
  /** Ends sessions at all processes. `uncertain`: names that may be those of no session, because anyone can send them. */
  close(names: readonly string[], uncertain?: readonly string[]): Promise<void>
  /** Keeps a process informed: `known` lists its sessions, and those that another process has ended are closed. */
  watch(known: () => readonly string[], onClosed: (name: string) => void): void
}

interface PageSession {
  readonly principal: Principal
  readonly endsMs: number
  /** True if other processes of the hub know it. */
  isShared: boolean
}

/**
 * Login sessions of the page. They exist in memory only, unless the processes of a hub share them: otherwise each person
 * enters the token again after a restart.
 */
export class PageSessions {
  /** Sessions by name, so that the memory of the process holds no id. */
  readonly #byName = new Map<string, PageSession>()
  readonly #now: () => number
  readonly #shared: SharedPageSessions | undefined

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number, shared?: SharedPageSessions) {
    this.#now = now
    this.#shared = shared
    shared?.watch(
      () => [...this.#byName].flatMap(([name, { isShared }]) => (isShared ? [name] : [])),
      (name) => void this.#byName.delete(name),
    )
  }

  /** Returns the id of a new session. The id reveals nothing of the token, and cannot be guessed. */
  async open(principal: Principal): Promise<string> {
    const id = randomBytes(32).toString('base64url')
    const name = sessionName(id)
    const session = this.#keep(name, principal, PAGE_SESSION_MS)
    if (this.#shared !== undefined) session.isShared = await this.#shared.save(name, principal, PAGE_SESSION_MS)
    return id
  }

  /** Returns the principal of a session that this process knows; `undefined` if its token has expired or was revoked. */
  find(id: string): Principal | undefined {
    const name = sessionName(id)
    const session = this.#byName.get(name)
    if (session === undefined) return undefined
    const { principal, endsMs } = session
    if (this.#now() < endsMs && principal.isOver?.() !== true) return principal
    this.#byName.delete(name)
    return undefined
  }

  /** Returns the ids of open sessions among these, also of those that were opened at another process of the hub. */
  async openAmong(ids: readonly string[]): Promise<readonly string[]> {
    const unknown = ids.filter((id) => this.find(id) === undefined && SESSION_ID.test(id)).slice(0, MOST_LOOKED_UP)
    if (unknown.length > 0 && this.#shared !== undefined)
      for (const [name, { principal, leftMs }] of await this.#shared.find(unknown.map(sessionName)))
        this.#keep(name, principal, leftMs).isShared = true
    return ids.filter((id) => this.find(id) !== undefined)
  }

  /** Ends the sessions with these ids, and those with these names. */
  async close(ids: readonly string[], names: readonly string[] = []): Promise<void> {
    const unknown = ids.filter((id) => this.find(id) === undefined && SESSION_ID.test(id)).slice(0, MOST_LOOKED_UP)
    const known = ids.filter((id) => this.find(id) !== undefined)
    const certain = [...known.map(sessionName), ...names]
    const uncertain = unknown.map(sessionName)
    for (const name of [...certain, ...uncertain]) this.#byName.delete(name)
    if (certain.length + uncertain.length > 0) await this.#shared?.close(certain, uncertain)
  }

  #keep(name: string, principal: Principal, leftMs: number): PageSession {
    this.#makeRoom(principal)
    const session = { principal, endsMs: this.#now() + leftMs, isShared: false }
    this.#byName.set(name, session)
    return session
  }

  /**
   * Makes room by removing the oldest session: that of the same principal at its limit, so that a principal does not
   * sign others out. Otherwise, it is the oldest of all if there are too many.
   */
  #makeRoom({ id }: Principal): void {
    const own = [...this.#byName].filter(([, { principal }]) => principal.id === id).map(([key]) => key)
    const all = this.#byName.size >= MOST_PAGE_SESSIONS ? this.#byName.keys() : []
    const [oldest] = own.length >= MOST_OF_ONE_PRINCIPAL ? own : all
    if (oldest !== undefined) this.#byName.delete(oldest)
  }
}

/** Returns the name of a session: a hash, from which its id does not follow. */
export function sessionName(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** Twelve hours: one working day. */
export const PAGE_SESSION_S = 43_200
const PAGE_SESSION_MS = PAGE_SESSION_S * 1000

export const MOST_PAGE_SESSIONS = 1_000
export const MOST_OF_ONE_PRINCIPAL = 10

const SESSION_ID = /^[\w-]{43}$/

/** A browser has one session. Others have been set by servers on other ports of this host. */
const MOST_LOOKED_UP = 8
