import { OMITTED_LIST } from '../../skill-md/entry-faults.ts'

/** What a server says of how its answers may be kept (2026-07-28), over all answers of one look. */
export class CacheHints {
  #ttlMs: number | undefined
  #isPrivate = false

  /** How long the listing is fresh: by the page that says the least, and at most a day. Nothing said is no time at all. */
  get ttlMs(): number {
    return Math.min(this.#ttlMs ?? 0, LONGEST_MS)
  }

  /** Whether any of it is for nobody but whom the server took us for. */
  get isPrivate(): boolean {
    return this.#isPrivate
  }

  /** Takes in what the result of a method says. */
  hear(method: string, { ttlMs, cacheScope }: Readonly<Record<string, unknown>>): void {
    if (cacheScope === 'private') this.#isPrivate = true
    if (method !== 'skills/list' && method !== OMITTED_LIST) return
    const saidMs = typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0
    this.#ttlMs = Math.min(this.#ttlMs ?? saidMs, saidMs)
  }
}

/** A server could have us never look again. */
const LONGEST_MS = 86_400_000
