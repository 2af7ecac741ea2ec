import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EventStreams } from '../../http/server/event-stream.ts'
import type { HttpAudit } from '../../http/server/http-audit.ts'
import type { Routes } from '../../http/server/listener.ts'
import { sendCrowded, sendError } from '../../http/server/response.ts'
import type { ShareHolderOf } from '../../http/server/share-holder.ts'
import type { Principal } from '../../principal.ts'
import { viewOfPack } from '../../view.ts'
import type { View, ViewName } from '../../view.ts'
import { admits, servingFor } from '../core/methods.ts'
import type { Serving } from '../core/methods.ts'
import { ResponseCache, contentCache } from '../core/response-cache.ts'
import { ScopedServer } from '../core/scoped-server.ts'
import type { TextCache } from '../rpc/text-cache.ts'
import { readyFor } from '../tools/prepare.ts'
import { announcedBytes } from '../tools/response-size.ts'
import type { BatchBounds } from './batch.ts'
import { FastPath } from './fast-path.ts'
import { LegacyEndpoint } from './legacy-endpoint.ts'
import { McpEndpoint } from './mcp-endpoint.ts'
import { ModernEndpoint } from './modern-endpoint.ts'
import { PerView } from './per-view.ts'
import type { Sessions } from './sessions.ts'
import type { ViewHubs } from './view-hubs.ts'

/** The parts behind the MCP routes. */
export interface McpRouteOptions {
  readonly serving: Serving
  readonly rooms: Pick<ViewHubs, 'of'>
  readonly sessions: Sessions
  readonly streams: EventStreams
  readonly audit: HttpAudit
  readonly holderOf: ShareHolderOf
  readonly bodyBytes: number
  readonly batches: BatchBounds
  /** The message of a 404. For a pack that does not exist for the caller, the message is the same. */
  readonly nothingHere: string
  readonly hasPage: boolean
}

/** The routes `/mcp`, with everything that the caller sees, and `/mcp/<pack>`, with one pack of that. */
export function mcpRoutes(parts: McpRouteOptions): Routes {
  const contents = contentCache()
  const endpoints = new PerView(parts.serving, (view) => endpointOf(parts, view, contents))
  const { serving } = parts
  const answer = async (
    { name }: View,
    principal: Principal | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    if (!admits(serving, name, parts.holderOf(request, principal))) return sendCrowded(response)
    return endpoints.of(name).answer(request, response, principal)
  }
  const route = { scope: 'skills', audit: 'refusals' } as const
  return {
    '/mcp': {
      ...route,
      ...(parts.hasPage && { page: './' }),
      answer: (request, response, { principal, view }) => answer(view, principal, request, response),
    },
    '/mcp/': {
      ...route,
      ...(parts.hasPage && { page: '../' }),
      answer: async (request: IncomingMessage, response: ServerResponse, { name, principal, view }) => {
        const pack = viewOfPack(view, name, serving.packs?.views)
        if (pack === undefined) return sendError(response, { status: 404, code: -32000, message: parts.nothingHere })
        return answer(pack, principal, request, response)
      },
    },
  }
}

function endpointOf(parts: McpRouteOptions, view: ViewName, contents: TextCache): McpEndpoint {
  const { serving: whole, rooms, sessions, streams, bodyBytes, batches } = parts
  const serving = servingFor(whole, view)
  const audit = parts.audit.of(serving)
  const ofView = sessions.in(view)
  const answers = new ResponseCache(serving, contents)
  const common = { streams, audit, batches }
  const { hub } = rooms.of(view)
  return new McpEndpoint({
    modern: new ModernEndpoint({ ...common, core: new ScopedServer(serving, 'modern'), serving, hub, view }),
    legacy: new LegacyEndpoint({ ...common, core: new ScopedServer(serving, 'legacy'), sessions: ofView, answers }),
    shortcut: new FastPath(answers, ofView, audit, batches),
    audit,
    bodyBytes,
    batches,
    announced: (body) => announcedBytes(serving.registry.catalog, serving.forms, body),
    ready: async (body, signalOf) => readyFor(serving.registry.catalog, serving.forms, body, signalOf),
  })
}
