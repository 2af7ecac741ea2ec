import { Discovery } from '../discovery.ts'
import type { Serving } from '../mcp/methods.ts'
import type { Scope } from '../principal.ts'
import { READ_METHODS } from './listener.ts'
import type { Route, Routes } from './listener.ts'
import { Page } from './page.ts'
import type { PageParts } from './page.ts'
import { WELL_KNOWN, WellKnownEndpoint } from './well-known.ts'

/** What is offered over HTTP to those that do not speak MCP. */
export interface WebOptions {
  /** Whether the skills are offered as files, for installers. */
  readonly wellKnown: boolean
  /** The catalog for people, at `/`. Undefined where it is not offered. */
  readonly page: { readonly title: string } | undefined
  /** What of it is answered without a token, on purpose, where others need one. */
  readonly open: ReadonlySet<Scope>
}

/** The routes of what is offered. */
export function webRoutes(
  serving: Serving,
  { wellKnown, page }: WebOptions,
  edge: Pick<PageParts, 'access' | 'admit' | 'address' | 'now' | 'audit'>,
): Routes {
  const { registry } = serving
  return {
    ...(wellKnown && wellKnownRoutes(serving, edge.now)),
    ...(page !== undefined && pageRoutes(new Page({ ...edge, ...page, registry, hasInstaller: wellKnown }))),
  }
}

function pageRoutes(page: Page): Routes {
  return {
    '/': { audit: 'all', methods: READ_METHODS, answer: (request, response) => page.show(request, response) },
    '/login': { audit: 'all', methods: ['POST'], answer: (request, response) => page.signIn(request, response) },
    '/logout': { audit: 'all', methods: ['POST'], answer: (request, response) => page.signOut(request, response) },
  }
}

function wellKnownRoutes({ registry, read }: Serving, now: () => number): Routes {
  const endpoint = new WellKnownEndpoint(new Discovery({ registry, read, now }, WELL_KNOWN), read)
  const route: Route = {
    methods: READ_METHODS,
    scope: 'well-known',
    audit: 'all',
    answer: (request, response, { name }) => endpoint.answer(name, request, response),
  }
  return { [`${WELL_KNOWN}**`]: route }
}
