import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/base/async/clock.ts'
import type { Clock } from '../../src/base/async/clock.ts'
import { httpOptionsOf } from '../../src/daemon/access/http-options.ts'
import { processEnvironment } from '../../src/daemon/config/process-environment.ts'
import type { WholeConfig } from '../../src/daemon/configuration.ts'
import { readConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import type { SourceStatus } from '../../src/daemon/status/status.ts'
import { serveHttp } from '../../src/serve/site/server.ts'
import type { HttpServer } from '../../src/serve/site/server.ts'
import { declarationOf } from '../../src/sync/model/decisions/approvals.ts'
import type { Outcome } from '../../src/sync/model/outcome.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { Store } from '../../src/sync/store/store.ts'
import { modernHttp } from './clients/peer.ts'
import type { Peer, Reply } from './clients/peer.ts'
import { pullNow } from './pull-now.ts'
import { temporaryFolder } from './temporary.ts'

/** What a source of a mirror is, as YAML in one line: `mcp: http://…, approval: none`. */
export type SourceLines = Readonly<Record<string, string>>

/** A daemon in this process that mirrors what it is configured to, with its HTTP side open. Nothing is polled: tests pull. */
export class Mirror implements AsyncDisposable {
  readonly daemon: Daemon
  readonly state: string
  readonly url: string
  readonly peer: Peer
  readonly #http: HttpServer
  readonly #folder: { readonly path: string } & AsyncDisposable
  readonly #lines: readonly string[]
  #isOpen = true

  private constructor(
    daemon: Daemon,
    state: string,
    sides: { readonly http: HttpServer; readonly peer: Peer },
    folder: { readonly path: string } & AsyncDisposable,
    lines: readonly string[],
  ) {
    this.daemon = daemon
    this.state = state
    this.#http = sides.http
    this.url = `${sides.http.url}/mcp`
    this.peer = sides.peer
    this.#folder = folder
    this.#lines = lines
  }

  /** Each source pulled once, in `state` if that is given. */
  static async start(sources: SourceLines, options: MirrorOptions = {}): Promise<Mirror> {
    const folder = await temporaryFolder()
    const state = options.state ?? join(folder.path, 'state')
    const entries = Object.entries(sources).map(([id, lines]) => `  - { id: ${id}, ${lines} }`)
    const file = join(folder.path, 'skillsyncd.yaml')
    await writeFile(file, ['sources:', ...entries, `state: ${state}`, ...(options.config ?? [])].join('\n'))
    const config = await readConfig({ file })
    const lines: string[] = []
    const daemon = await daemonOf(config, lines, options.clock ?? systemClock)
    const http = await httpOf(daemon, config)
    const peer = await modernHttp(`${http.url}/mcp`)
    const mirror = new Mirror(daemon, state, { http, peer }, folder, lines)
    if (options.isPulled !== false) await mirror.pull()
    return mirror
  }

  /** What was logged, oldest first. */
  get log(): readonly Record<string, unknown>[] {
    return this.#lines.map((line) => JSON.parse(line))
  }

  async pull(id?: string): Promise<readonly Outcome[]> {
    return [...(await pullNow(this.daemon, id === undefined ? undefined : [idOf(id)])).values()]
  }

  source(id: string): SourceStatus {
    return this.daemon.parts.status.status().sources.find((source) => source.id === id)!
  }

  /** The rules of the findings of a source, with the path that each is about. */
  findings(id: string): readonly string[] {
    const snapshot = this.daemon.registry.catalog.snapshots.find(({ source }) => source === id)
    const all = [...(snapshot?.findings ?? []), ...(snapshot?.skills.flatMap(({ findings }) => findings) ?? [])]
    return all.map(({ rule, path }) => `${rule} ${path}`.trim())
  }

  /** Entries of `skills/list`, of all pages. */
  async listed(): Promise<readonly any[]> {
    const entries: any[] = []
    for (let cursor: string | undefined; ;) {
      const { result } = await this.peer.call('skills/list', cursor === undefined ? {} : { cursor })
      entries.push(...result.skills)
      if (result.nextCursor === undefined) return entries
      cursor = result.nextCursor
    }
  }

  async urisListed(): Promise<readonly string[]> {
    return (await this.listed()).map(({ uri }) => uri)
  }

  async read(uri: string): Promise<Reply> {
    return this.peer.call('resources/read', { uri })
  }

  /** The bytes of a resource, or the code of the error. */
  async bytesOf(uri: string): Promise<Buffer | number> {
    const { result, error } = await this.read(uri)
    if (error !== undefined) return error.code
    const [{ text, blob }] = result.contents
    return text === undefined ? Buffer.from(blob, 'base64') : Buffer.from(text)
  }

  async approve(id: string, path: string): Promise<boolean> {
    const snapshot = this.daemon.registry.catalog.snapshots.find(({ source }) => source === id)
    const skill = snapshot?.skills.find((candidate) => candidate.path === path)
    return this.daemon.parts.mcpDecisions.approve(idOf(id), path, (skill && declarationOf(skill)) ?? 'none', 'ada')
  }

  /** Resolves when a line with this event was logged `times` times. */
  async logged(event: string, times = 1): Promise<void> {
    while (this.log.filter((line) => line['event'] === event).length < times) await turn()
  }

  /** Ends the process's part; the state stays. */
  async stop(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#http[Symbol.asyncDispose]()
    await this.daemon[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#folder[Symbol.asyncDispose]()
  }
}

interface MirrorOptions {
  /** A state folder of the test's; else one that is gone with the mirror. */
  readonly state?: string
  /** Lines of YAML at the top level. */
  readonly config?: readonly string[]
  readonly clock?: Clock
  readonly isPulled?: boolean
}

async function daemonOf(config: WholeConfig, lines: string[], clock: Clock): Promise<Daemon> {
  const redactor = new Redactor()
  const stream = { write: (text: string) => lines.push(text) }
  const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock: systemClock, redactor })
  const store = await Store.open(config.state)
  return Daemon.start(config, { store, clock, log, redactor, environment: processEnvironment() })
}

async function httpOf(daemon: Daemon, config: WholeConfig): Promise<HttpServer> {
  const listen = { host: config.serve.http.host, port: 0 }
  const { tokens, oauth, page } = daemon.parts
  return serveHttp(
    servingOf(daemon.parts.serving),
    httpOptionsOf(config, {
      listen,
      tokens,
      oauth,
      clock: systemClock,
      host: page.host,
      features: [],
      onError: (error) => {
        throw error
      },
    }),
  )
}

export function idOf(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(`"${text}" is no source id`)
  return text
}

async function turn(): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve))
}
