import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { systemClock } from '../../src/base/async/clock.ts'
import type { Clock } from '../../src/base/async/clock.ts'
import { httpOptionsOf } from '../../src/daemon/access/http-options.ts'
import { processEnvironment } from '../../src/daemon/config/process-environment.ts'
import type { WholeConfig } from '../../src/daemon/configuration.ts'
import { readConfig } from '../../src/daemon/configuration.ts'
import { acquireLock } from '../../src/daemon/control/daemon-lock.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { loadSurfaces } from '../../src/daemon/features.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { auditLogOf, withAudit } from '../../src/daemon/status/audit/audit-log.ts'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import type { Audit } from '../../src/serve/audit.ts'
import type { AccessRules } from '../../src/serve/http/http-access.ts'
import type { CountUse, Surface } from '../../src/serve/mcp/core/methods.ts'
import type { PageHost } from '../../src/serve/page/page-data.ts'
import { serveHttp } from '../../src/serve/site/server.ts'
import type { HttpLimits, HttpServer } from '../../src/serve/site/server.ts'
import type { SharedStore } from '../../src/sync/postgres/shared-store.ts'
import { Store } from '../../src/sync/store/store.ts'
import { GitServer } from './git/git-server.ts'
import type { Repository } from './git/repository.ts'
import { pullNow } from './pull-now.ts'
import { temporaryFolder } from './temporary.ts'

/** A daemon in this process, over a real git server, with its HTTP side open. Nothing is polled: tests call `sync`. */
export interface Served extends AsyncDisposable {
  readonly daemon: Daemon
  readonly http: HttpServer
  /** Where MCP is. */
  readonly url: string
  readonly git: GitServer
  readonly config: WholeConfig
  /** The configuration file, for child processes that follow the same state. */
  readonly configFile: string
  /** Everything the daemon logged. */
  readonly logged: () => string
  sync(): Promise<void>
  /** Answers as after a reload: on the same listener, and anew. */
  renew(): void
}

export interface ServedOptions {
  /** Lines of YAML of the source, after its id and url: `root: skills`. */
  readonly source?: readonly string[]
  /** Lines of YAML at the top level. */
  readonly config?: readonly string[]
  readonly id?: string
  /** Further sources, by their ids. */
  readonly more?: Readonly<Record<string, Repository>>
  /** Some of them cannot be pulled: that is no fault of the test. */
  readonly mayFail?: boolean
  /** The clock of the sessions, in milliseconds; that of the machine if nothing else is said. */
  readonly now?: () => number
  /** That of the daemon, and not of its HTTP side; that of the machine if nothing else is said. */
  readonly clock?: Clock
  /** The store that the daemon shares with others. */
  readonly shared?: SharedStore
  /** Offered over HTTP besides what the daemon offers. */
  readonly surfaces?: readonly Surface[]
  /** In place of the audit log of the state folder. */
  readonly audit?: Audit
  /** Counts what is answered over HTTP; nothing does if nothing else is said. */
  readonly use?: CountUse
  /** The use of skills that the page shows; it shows none if nothing else is said. */
  readonly uses?: PageHost['uses']
  /** In place of the tokens of the state folder. */
  readonly access?: AccessRules
  /** In place of the daemon's own services of the marketplace. */
  readonly marketplace?: Partial<Daemon['parts']['marketplace']>
  /** In place of what the configuration says. */
  readonly limits?: Partial<HttpLimits>
}

/** Serves one repository as one source, `fx` if nothing else is said, pulled once. */
export async function serve(repository: Repository, options: ServedOptions = {}): Promise<Served> {
  const folder = await temporaryFolder()
  const git = await GitServer.start()
  const id = options.id ?? 'fx'
  const lines = [`url: ${git.serve(id, repository)}`, ...(options.source ?? [])]
  const yaml = [
    'sources:',
    `  - id: ${id}`,
    ...lines.map((line) => `    ${line}`),
    ...Object.entries(options.more ?? {}).flatMap(([other, held]) => [
      `  - id: ${other}`,
      `    url: ${git.serve(other, held)}`,
    ]),
    `state: ${folder.path}/state`,
    ...(options.config ?? []),
  ]
  const configFile = join(folder.path, 'skillsyncd.yaml')
  await writeFile(configFile, `${yaml.join('\n')}\n`)
  const config = await readConfig({ file: configFile })
  let logged = ''
  const redactor = new Redactor()
  const log = createLog({
    level: 'debug',
    stream: { write: (text) => (logged += text) },
    format: 'json',
    journal: false,
    clock: systemClock,
    redactor,
  })
  const store = await Store.open(config.state)
  // With the lock taken, `skillsyncd mcp` of the same state only follows; else it would write beside the daemon here.
  await acquireLock(config.state, { pid: process.pid, socket: join(config.state, 'none'), command: 'start' })
  const daemon = await Daemon.start(config, {
    store,
    clock: options.clock ?? systemClock,
    log,
    redactor,
    environment: processEnvironment(),
    ...(options.shared !== undefined && { shared: options.shared }),
  })
  const surfaces = await loadSurfaces()
  const { pages } = surfaces
  const parts = { ...daemon.parts, marketplace: { ...daemon.parts.marketplace, ...options.marketplace } }
  const now = options.now ?? (() => systemClock.monotonicMs())
  const onError = (error: unknown): void =>
    log.error('request-failed', { error: error instanceof Error ? error : String(error) })
  const features = surfaces.open({ registry: daemon.registry, now, onError })
  const edge = httpOptionsOf(config, {
    listen: { host: config.serve.http.host, port: 0 },
    tokens: daemon.parts.tokens,
    oauth: daemon.parts.oauth,
    host: { ...daemon.parts.page.host, uses: options.uses, pages, sections: surfaces.sections(parts) },
    features: features.routesOf(parts),
    pageSessions: daemon.parts.pageSessions,
    clock: { monotonicMs: now },
    onError,
  })
  const audit = auditLogOf(config, 'http', log, systemClock)
  const serving = {
    ...withAudit(servingOf(daemon.parts.serving), audit),
    surfaces: [...(servingOf(daemon.parts.serving).surfaces ?? []), ...(options.surfaces ?? [])],
    ...(options.audit !== undefined && { audit: options.audit }),
    ...(options.use !== undefined && { use: options.use }),
  }
  const httpOptions = {
    ...edge,
    limits: { ...edge.limits, ...options.limits },
    ...(options.access !== undefined && { access: options.access }),
  }
  const http = await serveHttp(serving, httpOptions)
  daemon.parts.tokens.listen(() => http.endWhatIsOver())
  const served: Served = {
    daemon,
    http,
    url: `${http.url}/mcp`,
    git,
    config,
    configFile,
    logged: () => logged,
    async sync() {
      for (const outcome of (await pullNow(daemon)).values())
        if (outcome.kind === 'failed' && options.mayFail !== true) throw outcome.error
    },
    renew: () => http.serve(serving, httpOptions),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
      await features[Symbol.asyncDispose]()
      await audit?.[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
      await git[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
  await served.sync()
  return served
}

/** Waits until the page knows since when each skill has its content; before that it is shown without. */
export async function momentsFound({ daemon }: Pick<Served, 'daemon'>): Promise<void> {
  const isFound = async (): Promise<void> =>
    expect((await daemon.parts.page.host.lastChanges()).size).toBeGreaterThan(0)
  await vi.waitFor(isFound, { timeout: 60_000 })
}
