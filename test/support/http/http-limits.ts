import type { HttpLimits } from '../../../src/serve/site/server.ts'

/** Limits of an HTTP listener that a test reaches only where it sets one lower. */
export const HTTP_LIMITS = {
  headersMs: 10_000,
  requestMs: 30_000,
  connections: 200,
  bodyBytes: 2 ** 20,
  streams: 100,
  keepAliveMs: 60_000,
  sessions: { sessions: 100, idleMs: 60_000 },
} as const satisfies HttpLimits
