import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Registry } from '../registry.ts'
import type { Routes } from './listener.ts'
import { sendError, sendJson } from './send.ts'

/** What a supervisor asks, without a token. The answers name nothing: neither a source, nor a skill, nor a version. */
export function healthRoutes(registry: Registry): Routes {
  return {
    '/healthz': { answer: async (request, response) => sendHealth(request, response, 200, 'ok') },
    '/readyz': {
      answer: async (request, response) => {
        const isReady = registry.catalog.generation > 0
        sendHealth(request, response, isReady ? 200 : 503, isReady ? 'ready' : 'not ready')
      },
    },
  }
}

function sendHealth(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    return sendJson(response, status, { status: text }, { 'cache-control': 'no-store' })
  }
  sendError(response, 405, -32000, 'Method not allowed', { headers: { allow: 'GET, HEAD' } })
}
