import type { TraceContext } from '../../../base/trace-context.ts'
import type { Principal } from '../../principal.ts'
import type { Holder } from '../../fair-shares.ts'

/** The two protocol eras: up to 2025-11-25 (`initialize`, sessions), and 2026-07-28 (stateless). */
export type Era = 'legacy' | 'modern'

/** How long a client may go without asking again, where it hears of no change, and whether others may be given its answer. */
export interface CacheHint {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

/** Who asks, as far as an answer may depend on it. */
export interface Caller {
  readonly era: Era
  /** Undefined where everybody who can connect may ask everything: over stdio, and on loopback without tokens. */
  readonly principal?: Principal
  /** The holder that its places count for. Undefined over stdio, where there is one client. No answer depends on it. */
  readonly holder?: Holder
  /** Resolves when it is its turn to go on, after it has waited for something; undefined where it is now. No answer depends on it. */
  readonly turn?: () => Promise<void> | undefined
  /** Where its request stands in its trace. No answer depends on it. */
  readonly trace?: TraceContext
  /** What this caller is subscribed to. A 2025-era session has one; a 2026-era request has none, it listens on a stream. */
  readonly subscriptions?: Subscriptions
}

/** URIs that one session, or one client over stdio, may subscribe to or listen for. */
export const MAX_SUBSCRIPTIONS = 10_000

/** The resources that one 2025-era session wants to hear of. Held by URI as the client wrote it and as we know it. */
export interface Subscriptions {
  subscribe(asked: string, canonical: string): void
  unsubscribe(asked: string): void
}
