import type { IncomingMessage } from 'node:http'
import { READ_METHODS } from '../../http/server/listener.ts'
import type { HttpRoute, Routes } from '../../http/server/listener.ts'
import { sendCrowded } from '../../http/server/response.ts'
import { admits, servingFor } from '../../mcp/core/methods.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import { PerView } from '../../mcp/transports/per-view.ts'
import type { Scope } from '../../principal.ts'
import { Discovery } from './discovery.ts'
import type { IssuerLogin } from './issuer-login.ts'
import { PageRoutes, drawBelow, pagesOf } from './page-routes.ts'
import type { PageParts } from './page-routes.ts'
import { WELL_KNOWN, WellKnownEndpoint } from './well-known-endpoint.ts'

/** The operator's configuration of HTTP content for clients without MCP. */
export interface WebConfig {
  /** True if the skills are served as files, for installers. */
  readonly wellKnown: boolean
  /** The catalog for people, at `/`. `undefined` if it is disabled. */
  readonly page: Pick<PageParts, 'title'> | undefined
  /** The scopes that are public on purpose, although others need a token. */
  readonly open: ReadonlySet<Scope>
}

/** The configuration with the services of the daemon for the page. */
export interface WebOptions extends WebConfig {
  readonly page: Pick<PageParts, 'title' | 'host'> | undefined
}

/** The parts of the HTTP server that this content uses. */
interface Edge extends Pick<
  PageParts,
  'access' | 'admit' | 'address' | 'resource' | 'signIn' | 'audit' | 'streams' | 'signedIn' | 'holderOf'
> {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** Returns the routes of the enabled content. Disposal ends the page. */
export function webRoutesOf(
  serving: Serving,
  { wellKnown, page, open }: WebOptions,
  edge: Edge,
): { readonly routes: Routes } & AsyncDisposable {
  const isInstallerPublic = wellKnown && (page?.host.isTokenRequired === false || open.has('well-known'))
  const pages = page && new PageRoutes({ ...edge, ...page, serving, hasInstaller: wellKnown, isInstallerPublic })
  return {
    routes: {
      ...(wellKnown && wellKnownRoutes(serving, edge)),
      ...(pages !== undefined && pageRoutes(pages, pagesOf(page?.title ?? '', page?.host.pages))),
    },
    async [Symbol.asyncDispose]() {
      await pages?.[Symbol.asyncDispose]()
    },
  }
}

function pageRoutes(page: PageRoutes, pages: ReturnType<typeof pagesOf>): Routes {
  const shown = { audit: 'all', methods: READ_METHODS } as const
  const sent = { audit: 'all', methods: ['POST'], refusesSlash: true } as const
  const drawn = Object.entries(pages).map(([path, draw]): [string, HttpRoute] => [
    path,
    { ...shown, refusesSlash: true, answer: (request, response) => page.show(request, response, draw) },
  ])
  return {
    ...Object.fromEntries(drawn),
    '/skills/**': {
      ...shown,
      answer: (request, response, { name }) =>
        page.show(request, response, (view, readables) => drawBelow(name, view, readables)),
    },
    '/events': { ...shown, answer: (request, response) => page.follow(request, response) },
    '/login': { ...sent, answer: (request, response) => page.login.signIn(request, response) },
    ...(page.issuerLogin && issuerRoutes(page.issuerLogin)),
    '/logout': { ...sent, answer: (request, response) => page.login.signOut(request, response) },
  }
}

/** A HEAD must not use up a code. */
function issuerRoutes(login: IssuerLogin): Routes {
  const opened = { audit: 'all', methods: ['GET'] } as const
  return {
    '/login/start': { ...opened, answer: (request, response) => login.begin(request, response) },
    '/login/callback': { ...opened, answer: (request, response) => login.finish(request, response) },
  }
}

/** The name of the program in `User-Agent` (RFC 9110, section 10.1.5), without its version. */
function productOf({ headers }: IncomingMessage): string | undefined {
  return /^[^\s/()]{1,64}/.exec(headers['user-agent'] ?? '')?.[0]
}

function wellKnownRoutes(serving: Serving, { now, holderOf }: Pick<Edge, 'now' | 'holderOf'>): Routes {
  const endpoints = new PerView(serving, (view) => {
    const { registry, read } = servingFor(serving, view)
    const discovery = new Discovery({ registry, read, now }, WELL_KNOWN)
    return new WellKnownEndpoint(discovery, read, (part, request, { principal, isFailed }) =>
      serving.use?.({ part, serving: { view }, client: productOf(request), principal: principal?.id, isFailed }),
    )
  })
  const route: HttpRoute = {
    methods: READ_METHODS,
    scope: 'well-known',
    audit: 'all',
    answer: async (request, response, { name, principal, view }) => {
      if (!admits(serving, view.name, holderOf(request, principal))) return sendCrowded(response)
      // Of all names here the index is the one that people type as an address.
      return endpoints.of(view.name).answer(name.replace(/^index\.json\/$/, 'index.json'), request, response, principal)
    },
  }
  return { [`${WELL_KNOWN}**`]: route }
}
