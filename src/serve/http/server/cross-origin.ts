import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendStatus } from './response.ts'

/**
 * Allows pages of this site to read the response. Returns true for a preflight request, which it answers: a browser
 * sends no token with a preflight. Cookies are not allowed, so a page needs its own token.
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

/** The request headers of MCP clients that need a preflight. */
const ASKED_WITH =
  'authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id'
