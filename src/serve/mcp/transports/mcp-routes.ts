import type { IncomingMessage, ServerResponse } from 'node:http'
import { classifyInboundRequest, isJsonContentType, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import type { InboundLadderRejection } from '@modelcontextprotocol/server'
import { isObject } from '../../../base/json-object.ts'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import type { Routes } from '../../http/server/listener.ts'
import { jsonBody, MAX_DEPTH } from '../../http/server/request-body.ts'
import { hasRoom, sendBusy, sendCrowded, sendError } from '../../http/server/response.ts'
import type { ShareHolderOf } from '../../http/server/share-holder.ts'
import type { Principal } from '../../principal.ts'
import { isOver } from '../../principal.ts'
import { viewOfPack } from '../../view.ts'
import type { View, ViewName } from '../../view.ts'
import { admits, servingFor } from '../core/methods.ts'
import type { Serving } from '../core/methods.ts'
import { contentCache, ResponseCache } from '../core/response-cache.ts'
import { ScopedServer } from '../core/scoped-server.ts'
import { MODERN_REVISION } from '../core/sdk-server.ts'
import type { TextCache } from '../rpc/text-cache.ts'
import { readyFor } from '../tools/prepare.ts'
import { announcedBytes } from '../tools/response-size.ts'
import type { BatchBounds } from './batch.ts'
import { refuseBatch } from './batch.ts'
import { FastPath } from './fast-path.ts'
import type { HttpAudit, MessageAudit } from './http-audit.ts'
import { LegacyEndpoint } from './legacy-endpoint.ts'
import { ModernEndpoint, sendUnsupported } from './modern-endpoint.ts'
import { PerView } from './per-view.ts'
import { PlainRequests, routeOf } from './plain-requests.ts'
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
        const pack = viewOfPack(view, name, serving.views)
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

interface McpEndpointParts {
  readonly modern: ModernEndpoint
  readonly legacy: LegacyEndpoint
  readonly shortcut: FastPath
  readonly audit: Pick<MessageAudit, 'asks'>
  readonly bodyBytes: number
  readonly batches: Pick<BatchBounds, 'rate' | 'holderOf' | 'turns'>
  /** Estimates the size of the response to a body, if it is known in advance. */
  readonly announced: (body: unknown) => number
  /** Builds in slices the data for that estimate. */
  readonly ready: (body: unknown, signalOf: () => AbortSignal) => Promise<void>
}

/** The single endpoint of both eras. The body decides the era; headers only have to agree with it. */
class McpEndpoint {
  readonly #parts: McpEndpointParts
  readonly #plain = new PlainRequests()

  constructor(parts: McpEndpointParts) {
    this.#parts = parts
  }

  async answer(request: IncomingMessage, response: ServerResponse, principal: Principal | undefined): Promise<void> {
    switch (request.method) {
      case 'POST':
        return this.#post(request, response, principal)
      case 'GET':
        return this.#parts.legacy.openStream(request, response, principal)
      case 'DELETE':
        return this.#parts.legacy.endSession(request, response, principal)
      default:
        return sendError(response, {
          status: 405,
          code: -32000,
          message: 'Method not allowed',
          headers: { allow: 'GET, POST, DELETE' },
        })
    }
  }

  async #post(request: IncomingMessage, response: ServerResponse, principal: Principal | undefined): Promise<void> {
    if (!isJsonContentType(request.headers['content-type'] ?? null)) {
      return sendError(response, { status: 415, code: -32000, message: 'The content type must be application/json' })
    }
    const isHere = request.complete
    const body = await jsonBody(request, this.#parts.bodyBytes)
    // The request's turn ended before its body arrived.
    if (!isHere) await this.#goOn(request, response, principal)
    if (body.ok) this.#parts.audit.asks(response, body.json)
    if (isOver(principal)) return refuseLapsed(response)
    if (!body.ok) return refuseBody(response, body.why, this.#parts.bodyBytes)
    const { json } = body
    if (Array.isArray(json) && refuseBatch(json, this.#parts.batches, { request, response, principal })) return
    await this.#parts.ready(json, () => disconnectSignal(response))
    if (!hasRoom(response, this.#parts.announced(body.json))) return sendBusy(response, idOf(body.json))
    const bringing = this.#parts.legacy.bring(request, response, principal)
    if (bringing !== undefined && (await bringing)) return
    const plain = this.#plain.read(body.json, request.headers)
    if (plain !== undefined && (await this.#parts.shortcut.answer(plain, principal, request, response))) return
    const route =
      plain === undefined
        ? classifyInboundRequest({ httpMethod: 'POST', ...standardHeaders(request), body: body.json })
        : routeOf(plain)
    switch (route.kind) {
      case 'reject':
        return refuse(response, route, body.json, request.headers['mcp-protocol-version'])
      case 'modern':
        return this.#parts.modern.answer(route, request, response, principal)
      case 'legacy':
        return this.#parts.legacy.answer(body.json, request, response, principal)
    }
  }

  #goOn(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> | undefined {
    const { turns, holderOf } = this.#parts.batches
    return turns.goOn(holderOf(request, principal), () => disconnectSignal(response))
  }
}

/** A token can be revoked while its client is still sending. */
function refuseLapsed(response: ServerResponse): void {
  const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
  sendError(response, { status: 401, code: -32000, message: 'The token is not valid', headers })
}

function standardHeaders(request: IncomingMessage): Record<string, string> {
  const names = {
    protocolVersionHeader: 'mcp-protocol-version',
    mcpMethodHeader: 'mcp-method',
    mcpNameHeader: 'mcp-name',
  }
  const given = Object.entries(names).map(([key, name]) => [key, request.headers[name]] as const)
  return Object.fromEntries(given.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function refuseBody(response: ServerResponse, why: 'too-large' | 'not-json' | 'too-deep', bodyBytes: number): void {
  if (why === 'too-deep')
    return sendError(response, { status: 400, code: -32600, message: `The body is nested more than ${MAX_DEPTH} deep` })
  if (why === 'not-json')
    return sendError(response, { status: 400, code: -32700, message: 'Parse error: the body is not JSON' })
  // The rest of the body is not read, so the connection cannot be reused.
  return sendError(response, {
    status: 413,
    code: -32000,
    message: `The body is over ${bodyBytes} bytes`,
    headers: { connection: 'close' },
  })
}

function refuse(
  response: ServerResponse,
  { httpStatus, rung, code, message, data }: InboundLadderRejection,
  body: unknown,
  header: string | string[] | undefined,
): void {
  const revision = rung === 'jsonrpc-shape' ? undefined : revisionOf(body, header)
  // The SDK holds such a request to the forms of its own revision, and refuses it for those.
  if (revision !== undefined && revision !== MODERN_REVISION) return sendUnsupported(response, revision, idOf(body))
  sendError(response, { status: httpStatus, code, message, id: idOf(body), data })
}

/** Returns the revision of a request; `undefined` if it names none, or another one in the header than in the body. */
function revisionOf(body: unknown, header: string | string[] | undefined): string | undefined {
  const params = isObject(body) ? body['params'] : undefined
  const meta = isObject(params) ? params['_meta'] : undefined
  const claim = isObject(meta) ? meta[PROTOCOL_VERSION_META_KEY] : undefined
  const revision = header ?? claim
  return typeof revision === 'string' && (claim ?? revision) === revision ? revision : undefined
}

function idOf(body: unknown): string | number | null {
  if (typeof body !== 'object' || body === null || !('id' in body)) return null
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null
}
