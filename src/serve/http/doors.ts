import type { IncomingMessage, ServerResponse } from 'node:http'
import { announcedBytes } from '../mcp/announced.ts'
import { Answers } from '../mcp/answers.ts'
import { servingFor } from '../mcp/methods.ts'
import type { Serving } from '../mcp/methods.ts'
import { ScopedCore } from '../mcp/scoped-core.ts'
import type { Principal } from '../principal.ts'
import { viewOf } from '../views.ts'
import type { ViewName } from '../views.ts'
import type { EventStreams } from './event-stream.ts'
import type { HttpAudit } from './http-audit.ts'
import type { Routes } from './listener.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { McpEndpoint } from './mcp.ts'
import type { Rooms } from './rooms.ts'
import { sendError } from './send.ts'
import type { Sessions } from './sessions.ts'
import { Shortcut } from './shortcut.ts'

/** What MCP is answered with over HTTP. */
export interface DoorParts {
  readonly serving: Serving
  readonly rooms: Pick<Rooms, 'of'>
  readonly sessions: Sessions
  readonly streams: EventStreams
  readonly audit: HttpAudit
  readonly bodyBytes: number
  /** Said where no route leads: of a pack that is not there for a caller, nobody learns more. */
  readonly nothingHere: string
}

/** `/mcp`, with all that a caller sees, and `/mcp/<pack>`, with one pack of that. */
export function mcpRoutes(parts: DoorParts): Routes {
  const endpoints = new ByView((view) => endpointOf(parts, view))
  const route = { scope: 'skills', audit: 'refusals' } as const
  return {
    '/mcp': {
      ...route,
      answer: (request, response, { principal }) =>
        endpoints.of(viewOf(principal?.packs)).answer(request, response, principal),
    },
    '/mcp/': {
      ...route,
      answer: async (request: IncomingMessage, response: ServerResponse, { name, principal }) => {
        if (!seesPack(parts.serving, name, principal)) return sendError(response, 404, -32000, parts.nothingHere)
        return endpoints.of(viewOf(new Set([name]))).answer(request, response, principal)
      },
    },
  }
}

function seesPack({ packs }: Serving, id: string, principal: Principal | undefined): boolean {
  return packs?.views.has(id) === true && principal?.packs?.has(id) !== false
}

function endpointOf({ serving: whole, rooms, sessions, streams, audit, bodyBytes }: DoorParts, view: ViewName) {
  const serving = servingFor(whole, view)
  const ofView = sessions.in(view)
  return new McpEndpoint(
    new ModernEdge(new ScopedCore(serving, 'modern'), serving, rooms.of(view).hub, streams, audit),
    new LegacyEdge(new ScopedCore(serving, 'legacy'), ofView, streams, audit),
    new Shortcut(new Answers(serving), ofView, audit),
    audit,
    bodyBytes,
    (body) => announcedBytes(serving.registry.catalog, serving.forms, body),
  )
}

/** Something for each view, made when the first of those who share it comes. */
export class ByView<One> {
  readonly #make: (view: ViewName) => One
  readonly #made = new Map<ViewName, One>()

  constructor(make: (view: ViewName) => One) {
    this.#make = make
  }

  of(view: ViewName): One {
    const known = this.#made.get(view)
    if (known !== undefined) return known
    const made = this.#make(view)
    this.#made.set(view, made)
    return made
  }

  get all(): Iterable<One> {
    return this.#made.values()
  }
}
