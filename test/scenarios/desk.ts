import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import type { Verb } from '../../src/daemon/pull/decide.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { historyOf, type StoredGeneration } from '../../src/daemon/status/changes/history.ts'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import type { SourceStatus } from '../../src/daemon/status/status.ts'
import type { Outcome } from '../../src/sync/model/outcome.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { LOOK_MS } from '../../src/sync/pull/lagging-replica.ts'
import type { OpenUpstream } from '../../src/sync/pull/open-upstream.ts'
import { storedSkill } from '../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../src/sync/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { skillText, type ScriptedUpstream } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'

export const TEAM = sourceId('team')

/** A clock that is moved by hand, but for the looks at a ref that went back: no replica lags here. */
class DeskClock extends FakeClock {
  override async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (ms !== LOOK_MS) await super.wait(ms, signal)
  }
}

/** A daemon in this process, its state folder, and the repository of its only source on a real git server. */
export class Desk implements AsyncDisposable {
  readonly clock = new DeskClock()
  readonly git: GitServer
  readonly repository: Repository
  readonly state: string
  /** Lines of YAML of the source, replaced between two starts. */
  source: readonly string[]
  /** In place of the git server, from the next start on. */
  upstream: ScriptedUpstream | undefined
  /** The name of the repository on the git server, from the next start on. */
  place = 'team'
  /** What stands before the git server, from the next start on. */
  front: { readonly origin: string } | undefined
  /** Lines of the top level. */
  rest: readonly string[] = []
  readonly #folder: AsyncDisposable
  #daemon: Daemon | undefined
  #logged = ''

  private constructor(git: GitServer, repository: Repository, folder: AsyncDisposable & { path: string }) {
    this.git = git
    this.repository = repository
    this.#folder = folder
    this.state = join(folder.path, 'state')
    this.source = []
  }

  static async open(source: readonly string[] = [], ...rest: readonly string[]): Promise<Desk> {
    const desk = new Desk(await GitServer.start(), await Repository.create(), await temporaryFolder())
    desk.source = source
    desk.rest = rest
    desk.git.serve('team', desk.repository)
    return desk
  }

  /** Starts the daemon, or starts it again on what the last one left. */
  async start(): Promise<void> {
    await this.#daemon?.[Symbol.asyncDispose]()
    const { clock, state } = this
    const url = `${(this.front ?? this.git).origin}/${this.place}.git`
    const lines = ['sources:', '  - id: team', ...[`url: ${url}`, ...this.source].map((line) => `    ${line}`)]
    const environment = environmentOf({}, state)
    const config = parseConfig([...lines, ...this.rest].join('\n'), 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const redactor = new Redactor()
    const stream = { write: (text: string) => (this.#logged += text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor })
    const { upstream } = this
    const open: { open?: OpenUpstream } = upstream === undefined ? {} : { open: (_, reach) => upstream.open(reach) }
    const store = await Store.open(state)
    const parts = { store, clock, log, environment, redactor, ...open }
    this.#daemon = await Daemon.start(config, parts)
  }

  get daemon(): Daemon {
    if (this.#daemon === undefined) throw new Error('No daemon was started')
    return this.#daemon
  }

  /** One pull, between two looks at everything that is served. */
  async sync(): Promise<Outcome> {
    await this.expectReadable()
    const outcome = (await pullNow(this.daemon)).get(TEAM)
    await this.expectReadable()
    if (outcome === undefined) throw new Error('The source was not pulled')
    return outcome
  }

  async decide(verb: Verb, commit?: string): Promise<void> {
    await this.daemon.parts.decisions.decide(TEAM, verb, { commit })
  }

  /** Decides on exactly what waits, as an operator does by the line that was printed. */
  async decideOnWaiting(verb: 'approve' | 'reject'): Promise<void> {
    await this.daemon.parts.decisions.decide(TEAM, verb, this.daemon.parts.decisions.waiting(TEAM, verb).revision)
  }

  async rollback(commit: string): Promise<void> {
    await this.daemon.parts.rollbacks.to({ kind: 'commit', source: TEAM, commit }, new AbortController().signal)
    await this.expectReadable()
  }

  /** Keeps the source at a commit, which is served at once. */
  async hold(commit: string): Promise<void> {
    await this.daemon.parts.rollbacks.hold(TEAM, commit, {}, new AbortController().signal)
    await this.expectReadable()
  }

  /** Keeps the source where it is, and asks its host nothing. */
  async holdUnpolled(): Promise<void> {
    await this.daemon.parts.decisions.decide(TEAM, 'hold', { hold: { noPoll: true } })
  }

  status(): SourceStatus {
    return this.daemon.parts.status.status().sources[0]!
  }

  /** The generations that are kept, newest first. */
  async history(): Promise<StoredGeneration[]> {
    using store = await Store.open(this.state)
    return (await historyOf(store, 1_000)).filter(({ isKept }) => isKept)
  }

  /** The commit that is served. */
  served(): string | undefined {
    return this.status().served?.commit
  }

  /** The names of the skills that are served. */
  names(): string[] {
    return this.daemon.registry.catalog.listed.map(({ name }) => name)
  }

  /**
   * Where the files of a skill are: their rows in the store, and the files of its checkout, and since when. One that is
   * written anew is another one.
   */
  async placesOf(name: string): Promise<string[]> {
    using store = await Store.open(this.state)
    const { skill } = this.daemon.registry.catalog.listed.find((candidate) => candidate.name === name)!
    const folder = await store.checkouts.ensure(storedSkill(skill))
    const files = skill.files.map(async ({ path, sha256 }) => {
      const { ino, mtimeMs } = await stat(join(folder, path))
      return `${path} ${store.objects.rows.find(sha256)?.id} ${ino} ${mtimeMs}`
    })
    return await Promise.all(files)
  }

  /** The common oracle: whatever is listed can be read, with the digest and the size of the listing. */
  async expectReadable(): Promise<void> {
    const { registry } = this.daemon
    const serving = servingOf(this.daemon.parts.serving)
    for (const { uri, skill, file } of registry.catalog.files.values()) {
      const bytes = await serving.read(skill, file)
      const content = bytes instanceof Uint8Array ? bytes : new Uint8Array()
      const digest = createHash('sha256').update(content).digest('hex')
      if (content.length !== file.size || digest !== file.sha256) throw new Error(`${uri} is not what was listed`)
    }
  }

  /** Lines of the log so far with this event. */
  logged(event: string): Record<string, unknown>[] {
    const lines = this.#logged.split('\n').filter((line) => line !== '')
    return lines.map((line): Record<string, unknown> => JSON.parse(line)).filter((line) => line['event'] === event)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

/** A SKILL.md for each of the names, by its path. */
export function skills(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillText(name)]))
}

/** So many names of skills. */
export function named(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `skill-${index}`)
}

/** What removes the skills of these names. */
export function removed(...names: readonly string[]): Record<string, null> {
  return Object.fromEntries(names.map((name) => [name, null]))
}

function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new Error(`"${text}" is no source id`)
  return text
}
