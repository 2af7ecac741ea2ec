import { READ_METHODS } from '../server/listener.ts'
import type { Route, Routes } from '../server/listener.ts'
import { sendJson } from '../server/response.ts'

/** Why requests should go elsewhere: on the whole, or for one source. */
export interface Unready {
  readonly source?: string
  readonly why: 'nothing-served' | 'never-answered' | 'too-old'
  /** In seconds: how long ago the source last had an answer, and how long ago that may be. */
  readonly age?: number
  readonly limit?: number
}

/** What a supervisor asks, and how much it is told. */
export interface HealthOptions {
  /** Nothing where requests may come. */
  readonly unready: () => readonly Unready[]
  /** Whether what is stored is served and nothing new, since the disk takes no writes. */
  readonly isReadOnly?: (() => boolean) | undefined
  /** Whether whoever can connect may know the names of sources. */
  readonly isOpen: boolean
}

/** What a supervisor asks, without a token. Where others need one, the answers name neither a source, nor a skill, nor a version. */
export function healthRoutes({ unready, isReadOnly, isOpen }: HealthOptions): Routes {
  return {
    '/healthz': healthRoute(() => [200, { status: 'ok' }]),
    '/readyz': healthRoute(() => {
      const reasons = unready()
      if (reasons.length === 0)
        return [200, { status: 'ready', ...(isOpen && isReadOnly?.() === true && { readOnly: true }) }]
      return [503, { status: 'not ready', ...(isOpen && { reasons: reasons.slice(0, MOST_REASONS) }) }]
    }),
  }
}

/** Who has more sources than this that are in trouble looks at the status. */
const MOST_REASONS = 100

function healthRoute(look: () => readonly [status: number, answer: object]): Route {
  return {
    methods: READ_METHODS,
    async answer(_, response) {
      const [code, answer] = look()
      sendJson(response, code, answer, { 'cache-control': 'no-store' })
    },
  }
}
