import { READ_METHODS } from './server/listener.ts'
import type { HttpRoute, Routes } from './server/listener.ts'
import { sendJson } from './server/response.ts'

/** Reason not to send requests here, for the whole server or for one source. */
export interface Unready {
  readonly source?: string
  readonly why: 'nothing-served' | 'never-answered' | 'too-old'
  /** Seconds since the last answer of the source, and their limit. */
  readonly age?: number
  readonly limit?: number
}

/** The sources of the health routes, and their level of detail. */
export interface HealthOptions {
  /** Returns an empty list if the server is ready. */
  readonly unready: () => readonly Unready[]
  /** True if the disk refuses writes, so that only stored content is served. */
  readonly isReadOnly?: (() => boolean) | undefined
  /** True if the processes of the hub cannot reach the store that they share, so that nothing new is served. */
  readonly isApart?: (() => boolean) | undefined
  /** True if any client that can connect may see the names of sources. */
  readonly isOpen: boolean
}

/**
 * The health checks of a supervisor, without a token. If other routes need a token, the responses name no source, skill
 * or version.
 */
export function healthRoutes({ unready, isReadOnly, isApart, isOpen }: HealthOptions): Routes {
  return {
    '/healthz': healthRoute(() => [200, { status: 'ok' }]),
    '/readyz': healthRoute(() => {
      const reasons = unready()
      const notes = {
        ...(isReadOnly?.() === true && { readOnly: true }),
        ...(isApart?.() === true && { sharedStore: 'away' }),
      }
      // What it has is served on: a proxy that takes all processes out at once would end the service.
      if (reasons.length === 0) return [200, { status: 'ready', ...(isOpen && notes) }]
      return [503, { status: 'not ready', ...(isOpen && { reasons: reasons.slice(0, MOST_REASONS) }) }]
    }),
  }
}

/** Limit of reasons in a response. If there are more, the operator reads the status. */
const MOST_REASONS = 100

function healthRoute(look: () => readonly [status: number, answer: object]): HttpRoute {
  return {
    methods: READ_METHODS,
    async answer(_, response) {
      const [code, answer] = look()
      sendJson(response, code, answer, { 'cache-control': 'no-store' })
    },
  }
}
