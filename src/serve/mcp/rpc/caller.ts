import type { TraceContext } from '../../../base/trace-context.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Principal } from '../../principal.ts'

/** The two protocol eras: up to 2025-11-25 (`initialize`, sessions), and 2026-07-28 (stateless). */
export type Era = 'legacy' | 'modern'

/**
 * The time for which a client may reuse a response without notifications of changes, and the permission to share it.
 */
export interface CacheHint {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

/** The properties of the caller that a response may depend on. */
export interface Caller {
  readonly era: Era
  /** The revision whose forms a 2025-era session receives; `undefined`: the newest of its era. */
  readonly revision?: string | undefined
  /** `undefined` if any client that can connect may read everything: over stdio, and on loopback without tokens. */
  readonly principal?: Principal
  /** The holder that its places count for. `undefined` over stdio, which has one client. No response depends on it. */
  readonly holder?: ShareHolder
  /**
   * Resolves at its next turn, after it has waited for something; `undefined` if it need not wait. No response depends
   * on it.
   */
  readonly turn?: () => Promise<void> | undefined
  /** The trace context of its request. No response depends on it. */
  readonly trace?: TraceContext
  /** The subscriptions of a 2025-era session. A 2026-era request has none, because it listens on a stream. */
  readonly subscriptions?: CallerSubscriptions
}

/** Limit of URIs that one session, or one stdio client, may subscribe to or listen for. */
export const MAX_SUBSCRIPTIONS = 10_000

/** The resources that one 2025-era session is subscribed to, each in the client's spelling and in canonical form. */
export interface CallerSubscriptions {
  subscribe(asked: string, canonical: string): void
  unsubscribe(asked: string): void
}
