import type { HttpOptions } from '../src/serve/site/server.ts'

/** A server that is measured: on a port of its own, for anybody, with more room than is asked for. */
export function measuredOptions(keepAliveMs: number): HttpOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    limits: {
      headersMs: 10_000,
      requestMs: 30_000,
      connections: 10_000,
      bodyBytes: 2 ** 20,
      streams: 10_000,
      keepAliveMs,
      sessions: { sessions: 10_000, idleMs: 2_592_000_000 },
    },
    now: () => performance.now(),
    access: { isTokenRequired: false },
    onError: (error) => console.error(error),
  }
}
