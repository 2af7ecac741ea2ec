import { randomBytes } from 'node:crypto'
import type { Principal } from '../../principal.ts'

/** People who are signed in at the page. They are kept in memory alone: after a restart each gives a token again. */
export class PageSessions {
  readonly #byId = new Map<string, { readonly principal: Principal; readonly endsMs: number }>()
  readonly #now: () => number

  /** `now`: milliseconds that only ever go up. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** The id of a new session: it says nothing of the token, and nobody guesses it. */
  open(principal: Principal): string {
    this.#makeRoom(principal)
    const id = randomBytes(32).toString('base64url')
    this.#byId.set(id, { principal, endsMs: this.#now() + PAGE_SESSION_S * 1000 })
    return id
  }

  /** Who is signed in; nobody is with a token that has expired or was revoked since. */
  find(id: string): Principal | undefined {
    const session = this.#byId.get(id)
    if (session === undefined) return undefined
    const { principal, endsMs } = session
    if (this.#now() < endsMs && principal.isOver?.() !== true) return principal
    this.#byId.delete(id)
    return undefined
  }

  close(id: string): void {
    this.#byId.delete(id)
  }

  /** The oldest go first: those of the same principal, so that nobody signs others out. */
  #makeRoom({ id }: Principal): void {
    const own = [...this.#byId].filter(([, { principal }]) => principal.id === id).map(([key]) => key)
    const surplus = own.length >= MOST_OF_ONE ? own : [...this.#byId.keys()].slice(0, this.#byId.size - MOST + 1)
    const [oldest] = surplus
    if (oldest !== undefined) this.#byId.delete(oldest)
  }
}

/** Twelve hours: a day's work. */
export const PAGE_SESSION_S = 43_200

const MOST = 1_000
const MOST_OF_ONE = 10
