import { Discovery } from '../discovery.ts'
import type { Serving } from '../mcp/methods.ts'
import type { Route, Routes } from './listener.ts'
import { WELL_KNOWN, WellKnownEndpoint } from './well-known.ts'

/** What is offered over HTTP to those that do not speak MCP. */
export interface WebOptions {
  /** The skills as files, for installers. Undefined where they are not offered so. */
  readonly wellKnown: Offered | undefined
}

export interface Offered {
  /** Answered without a token, on purpose, where others need one. */
  readonly isPublic: boolean
}

/** The routes of what is offered. */
export function webRoutes(serving: Serving, { wellKnown }: WebOptions): Routes {
  return { ...(wellKnown !== undefined && wellKnownRoutes(serving, wellKnown)) }
}

function wellKnownRoutes(serving: Serving, { isPublic }: Offered): Routes {
  const endpoint = new WellKnownEndpoint(new Discovery(serving, WELL_KNOWN), serving.read)
  const route: Route = {
    ...(!isPublic && { scope: 'well-known' }),
    answer: (request, response, { name }) => endpoint.answer(name, request, response),
  }
  return { [`${WELL_KNOWN}**`]: route }
}
