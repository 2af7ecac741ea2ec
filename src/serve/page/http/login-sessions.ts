import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../../principal.ts'

/** Login sessions of the page. They exist in memory only: after a restart, each person enters the token again. */
export class PageSessions {
  /** Sessions by name, so that the memory of the process holds no id. */
  readonly #byName = new Map<string, { readonly principal: Principal; readonly endsMs: number }>()
  readonly #now: () => number

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the id of a new session. The id reveals nothing of the token, and cannot be guessed. */
  open(principal: Principal): string {
    this.#makeRoom(principal)
    const id = randomBytes(32).toString('base64url')
    this.#byName.set(sessionName(id), { principal, endsMs: this.#now() + PAGE_SESSION_S * 1000 })
    return id
  }

  /** Returns the principal of a session; `undefined` if its token has expired or was revoked. */
  find(id: string): Principal | undefined {
    const name = sessionName(id)
    const session = this.#byName.get(name)
    if (session === undefined) return undefined
    const { principal, endsMs } = session
    if (this.#now() < endsMs && principal.isOver?.() !== true) return principal
    this.#byName.delete(name)
    return undefined
  }

  close(id: string): void {
    this.closeNamed(sessionName(id))
  }

  closeNamed(name: string): void {
    this.#byName.delete(name)
  }

  /**
   * Makes room by removing the oldest session: that of the same principal at its limit, so that a principal does not
   * sign others out. Otherwise, it is the oldest of all if there are too many.
   */
  #makeRoom({ id }: Principal): void {
    const own = [...this.#byName].filter(([, { principal }]) => principal.id === id).map(([key]) => key)
    const all = this.#byName.size >= MOST ? this.#byName.keys() : []
    const [oldest] = own.length >= MOST_OF_ONE ? own : all
    if (oldest !== undefined) this.#byName.delete(oldest)
  }
}

/** Returns the name of a session: a hash, from which its id does not follow. */
export function sessionName(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** Twelve hours: one working day. */
export const PAGE_SESSION_S = 43_200

const MOST = 1_000
const MOST_OF_ONE = 10
