import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import {
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { methodsOf } from '../../../src/serve/mcp/core/methods.ts'
import type { Serving } from '../../../src/serve/mcp/core/methods.ts'
import type { Caller, Era } from '../../../src/serve/mcp/rpc/caller.ts'
import { VERSION } from '../../../src/serve/version.ts'

/** What a reader of the SDK's documentation would write: our methods behind the SDK's own HTTP edge, for both eras. */
export interface Textbook extends AsyncDisposable {
  readonly url: string
}

export async function serveTextbook(serving: Serving): Promise<Textbook> {
  const modern = createMcpHandler(({ era }) => serverFor(serving, era), { legacy: 'reject' })
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const legacy = async (request: Request): Promise<Response> => {
    const session = request.headers.get('mcp-session-id')
    const known = session === null ? undefined : sessions.get(session)
    if (known !== undefined) return known.handleRequest(request)
    if (session !== null) return refusal(404, -32001, 'Session not found')
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await serverFor(serving, 'legacy').connect(transport)
    return transport.handleRequest(request)
  }
  const route = async (request: Request): Promise<Response> => {
    // The SDK asks this of whoever routes by hand.
    if (request.method === 'POST' && !isJsonContentType(request.headers.get('content-type')))
      return refusal(415, -32000, 'The content type is not JSON')
    const isLegacy = await isLegacyRequest(request)
    return isLegacy ? legacy(request) : modern.fetch(request)
  }

  const isHost = localhostHostValidation()
  const isOrigin = localhostOriginValidation()
  const handler = toNodeHandler({ fetch: route })
  const http = createServer((request, response) => {
    if (isHost(request, response) && isOrigin(request, response)) void handler(request as never, response)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      await modern.close()
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })
}

const ANY_PARAMS = z.looseObject({})
const OF_THE_2025_ERA = new Set(['resources/subscribe', 'resources/unsubscribe'])
/** Those that the SDK does not know, and leaves their cache hints to who answers them. */
const HINTED_HERE = new Set(['skills/list', 'skills/get', 'resources/directory/read'])

function serverFor(serving: Serving, era: Era): Server {
  const { cache } = serving
  const server = new Server(
    { name: 'skillsyncd', version: VERSION },
    {
      capabilities: {
        resources: { subscribe: true, listChanged: true },
        extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true }, 'dev.skillsyncd/omitted': {} },
        ...Object.assign({}, ...(serving.surfaces ?? []).map(({ capabilities }) => capabilities)),
      },
      cacheHints: {
        'server/discover': cache,
        'resources/list': cache,
        'resources/templates/list': cache,
        'resources/read': cache,
        'tools/list': cache,
        'prompts/list': cache,
      },
    },
  )
  const caller: Caller =
    era === 'modern' ? { era } : { era, subscriptions: { subscribe: () => {}, unsubscribe: () => {} } }
  for (const [name, method] of Object.entries(methodsOf(serving))) {
    if (era === 'modern' && OF_THE_2025_ERA.has(name)) continue
    server.setRequestHandler(name, { params: ANY_PARAMS }, async (params, { mcpReq }) => {
      const result = await method(params, caller, mcpReq.signal)
      return era === 'modern' && HINTED_HERE.has(name) ? { ...result, ...cache } : { ...result }
    })
  }
  return server
}
