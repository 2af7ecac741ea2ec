import { OMITTED_LIST } from '../../../sync/skill/entry-faults.ts'

/** Collects the cache hints of a server (2026-07-28) from all answers of one listing. */
export class CacheHints {
  #ttlMs: number | undefined
  #isPrivate = false

  /** The freshness of the listing: the minimum over all its pages, and at most a day. Zero if the server gives none. */
  get ttlMs(): number {
    return Math.min(this.#ttlMs ?? 0, LONGEST_MS)
  }

  /** True if any answer is private to the client that the server identified. */
  get isPrivate(): boolean {
    return this.#isPrivate
  }

  /** Adds the hints in the result of a method. */
  hear(method: string, { ttlMs, cacheScope }: Readonly<Record<string, unknown>>): void {
    if (cacheScope === 'private') this.#isPrivate = true
    if (method !== 'skills/list' && method !== OMITTED_LIST) return
    const saidMs = typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0
    this.#ttlMs = Math.min(this.#ttlMs ?? saidMs, saidMs)
  }
}

/** Otherwise a server could stop all further listings. */
const LONGEST_MS = 86_400_000
