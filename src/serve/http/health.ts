import type { Registry } from '../registry.ts'
import { READ_METHODS } from './listener.ts'
import type { Route, Routes } from './listener.ts'
import { sendJson } from './send.ts'

/** What a supervisor asks, without a token. The answers name nothing: neither a source, nor a skill, nor a version. */
export function healthRoutes(registry: Registry): Routes {
  return {
    '/healthz': healthRoute(() => [200, 'ok']),
    '/readyz': healthRoute(() => (registry.catalog.generation > 0 ? [200, 'ready'] : [503, 'not ready'])),
  }
}

function healthRoute(look: () => readonly [status: number, text: string]): Route {
  return {
    methods: READ_METHODS,
    async answer(_, response) {
      const [code, status] = look()
      sendJson(response, code, { status }, { 'cache-control': 'no-store' })
    },
  }
}
