import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/async/clock.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { servingOf } from '../../../src/daemon/status/page/mcp-serving.ts'
import { connectSection } from '../../../src/features/marketplace/connect-section.ts'
import { marketplaceServer } from '../../../src/features/marketplace/git/marketplace-server.ts'
import type { MarketplaceServerParts } from '../../../src/features/marketplace/git/marketplace-server.ts'
import type { MarketplaceConfig } from '../../../src/features/marketplace/marketplace-config.ts'
import { ContentUnavailableError } from '../../../src/features/marketplace/read-whole.ts'
import type { Serving } from '../../../src/serve/mcp/core/methods.ts'
import type { SearchService as BuiltSearchService } from '../../../src/serve/mcp/tools/search/search-service.ts'
import type { SessionLog } from '../../../src/serve/mcp/transports/session-store.ts'
import type { PageHost } from '../../../src/serve/page/page-data.ts'
import { SCOPES } from '../../../src/serve/principal.ts'
import type { Principal } from '../../../src/serve/principal.ts'
import { Registry } from '../../../src/serve/registry.ts'
import { serveHttp } from '../../../src/serve/site/server.ts'
import type { HttpOptions, HttpServer } from '../../../src/serve/site/server.ts'
import { Views } from '../../../src/serve/views.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { readWorld } from '../content/contract-world.ts'

// Its thread is a file that only the build has.
const BUILT = new URL('../../../dist/serve/mcp/tools/search/search-service.js', import.meta.url).href
const { SearchService }: { readonly SearchService: typeof BuiltSearchService } = await import(/* @vite-ignore */ BUILT)

/** A world served over HTTP in every form there is, whole and in packs. */
export interface Packed extends AsyncDisposable {
  readonly http: HttpServer
  readonly registry: Registry
  /** Goes on with these lines in the configuration, as after a reload. */
  reload(yaml: string): void
}

export interface PackedOptions {
  /** What is served from the beginning. */
  readonly catalog: Catalog
  /** Lines of YAML beside the sources. */
  readonly yaml: string
  readonly sessionLog?: SessionLog
  /** What is said of the first source, beside its address; every form if nothing else is. */
  readonly optionsOfOne?: string
  /** The clock by which views are old. */
  readonly now?: () => number
}

/**
 * A bearer token is the packs that its bearer sees, with plus signs between them; `all` is one that sees everything. Before it
 * may stand a name with a tilde, for one principal of many tokens.
 */
export async function openPacked({
  catalog,
  yaml,
  sessionLog,
  optionsOfOne,
  now = () => 0,
}: PackedOptions): Promise<Packed> {
  const registry = new Registry()
  const views = new Views(registry, now)
  const searching = new SearchService({
    // Nothing is kept of a world: no heading is found.
    state: join(tmpdir(), randomUUID()),
    log: createLog({
      level: 'error',
      stream: { write: () => true },
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor: new Redactor(),
    }),
    clock: systemClock,
    // However busy the machine is.
    times: { keptMs: 30 * 60_000, waitMs: 300_000 },
  })
  const servingBy = (lines: string): Serving => {
    const config = configOf(catalog, lines, optionsOfOne)
    views.define(config.packs)
    return servingOf({ config, reading: { read: readWorld }, host: { look: async () => 0 }, finder: searching, views })
  }
  const serving = servingBy(yaml)
  registry.publish(catalog)
  const onError = (error: unknown): never => {
    throw error
  }
  const marketplaces = marketplaceServer({ registry, now: () => 0, onError })
  const options = { ...optionsOf(registry, sessionLog), features: marketplaces.routesOf(MARKETPLACE), onError }
  const http = await serveHttp(serving, options)
  return {
    http,
    registry,
    reload: (lines) => http.serve(servingBy(lines), options),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
      await marketplaces[Symbol.asyncDispose]?.()
      await searching[Symbol.asyncDispose]()
    },
  }
}

function configOf({ sources }: Catalog, yaml: string, ofFirst = `${FORMS}, docs: docs`): Config {
  const entries = sources.map(
    ([id], index) => `  - { id: ${id}, url: 'https://git.example.com/${id}.git'${index === 0 ? ofFirst : FORMS} }`,
  )
  // A source is needed in any case.
  const text = ['sources:', ...entries, "  - { id: spare, url: 'https://git.example.com/spare.git' }", yaml].join('\n')
  const config = parseConfig(text, 'skillsyncd.yaml', environmentOf({}, '/home/ada'))
  if (Array.isArray(config)) throw new Error(config.map(({ message }) => message).join('\n'))
  return config
}

const FORMS = ', contract: true'

function principalOf(token: string): Principal {
  const [id, named] = token.includes('~') ? token.split('~') : [token, token]
  const packs = named === 'all' ? undefined : new Set(named?.split('+'))
  return { id: id ?? token, scopes: new Set(SCOPES), ...(packs !== undefined && { packs }) }
}

function optionsOf(registry: Registry, sessionLog: SessionLog | undefined): Omit<HttpOptions, 'onError'> {
  return {
    host: '127.0.0.1',
    port: 0,
    limits: {
      bodyBytes: 2 ** 20,
      streams: 100,
      keepAliveMs: 60_000,
      sessions: { sessions: 1_000, idleMs: 60_000 },
      headersMs: 10_000,
      requestMs: 30_000,
      connections: 1_000,
    },
    now: () => 0,
    access: { isTokenRequired: true, authenticate: async (token) => principalOf(token) },
    web: { wellKnown: true, page: { title: 'Skills', host: hostOf(registry) }, open: new Set() },
    metrics: async () => JSON.stringify(pathsIn(registry)),
    ...(sessionLog !== undefined && { sessionLog }),
  }
}

const CONFIG: MarketplaceConfig = {
  name: 'law',
  owner: 'Law',
  description: 'Skills of the law',
  plugin: 'skills',
  retired: ['retired'],
  renames: { before: 'skills' },
}

/** The commit of a marketplace covers its files: none is sent. */
const MARKETPLACE: MarketplaceServerParts = {
  config: { serve: { marketplace: CONFIG } },
  marketplace: {
    openScratch: async () => {
      throw new ContentUnavailableError('No pack is written here')
    },
    onLeftOut: () => {},
  },
}

/** What the process around the page would say: something of everything. */
function hostOf(registry: Registry): PageHost {
  return {
    clean: (text) => text,
    now: () => new Date(0),
    isTokenRequired: true,
    sources: () => [],
    items: () => [
      {
        kind: 'content',
        id: 'all',
        state: 'lost',
        urgency: 'person',
        problems: [{ code: 'served-lost', message: JSON.stringify(pathsIn(registry)), fix: 'Fetch it' }],
      },
    ],
    misfits: () => [{ code: 'id-clash', message: 'They clash', fix: 'Rename one', skills: pathsIn(registry) }],
    packBudgets: {},
    sections: [connectSection(CONFIG)],
    problems: () =>
      pathsIn(registry).map(({ source, path }) => ({
        source,
        path,
        state: 'withheld',
        reasons: [{ code: 'name-clash', place: `${source}/${path}`, message: 'It clashes', fix: 'Rename one' }],
      })),
    scanFindings: ({ source }) => [`note word/first SKILL.md: It is of ${source}`],
    lastChanges: async () => new Map(),
    decisions: () => [{ at: new Date(0).toISOString(), id: '0', text: JSON.stringify(pathsIn(registry)) }],
    history: async () => [
      {
        generation: 1,
        createdAt: undefined,
        isServed: true,
        before: undefined,
        cause: JSON.stringify(pathsIn(registry)),
        moves: undefined,
      },
    ],
    compare: async () => undefined,
    pending: async () => undefined,
  }
}

function pathsIn({ catalog }: Registry): { readonly source: SourceId; readonly path: string }[] {
  return catalog.snapshots.flatMap(({ source, skills }) => skills.map(({ path }) => ({ source, path })))
}
