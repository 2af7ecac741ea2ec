import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendStatus } from './response.ts'

/**
 * Tells a browser that pages of this site may read the answer. True where all it asked was whether it may ask, which is
 * answered then: it sends no token with that question. Cookies are not let through, so that a page has a token of its own.
 */
export function allowPage(request: IncomingMessage, response: ServerResponse, origin: string): boolean {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('vary', 'origin')
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    response.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate, retry-after')
    return false
  }
  sendStatus(response, 204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': ASKED_WITH,
    'access-control-max-age': '600',
  })
  return true
}

/** What clients of MCP send that a browser asks about first. */
const ASKED_WITH =
  'authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id'
