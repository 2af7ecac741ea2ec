import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, onTestFailed } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { nginxBeforeAll } from '../../support/http/nginx.ts'
import type { Nginx } from '../../support/http/nginx.ts'
import { postgresPrograms, startPostgres } from '../../support/postgres.ts'
import type { Postgres } from '../../support/postgres.ts'
import { hasProgram } from '../../support/process/has-program.ts'
import { Follower } from './followers.ts'
import { HeadRecord } from './head-record.ts'
import { HubProcess } from './hub-process.ts'
import { MovingSource } from './moving-source.ts'
import { Prober } from './prober.ts'

const programs = await postgresPrograms()

/** Why these tests cannot run here. */
export const obstacle =
  programs === undefined ? 'PostgreSQL is not installed' : hasProgram('nginx') ? undefined : 'nginx is not installed'

interface HubOptions {
  readonly processes?: number
  readonly sources?: number
  /** The number of clients of each era that follow the sources, in turn. */
  readonly followers?: number
  /** Lines of the top level of the configuration. */
  readonly rest?: readonly string[]
  /** The size of the disk of the database. */
  readonly diskBytes?: number
  /** The size of the disk of each process. */
  readonly processDiskBytes?: number
  /** True if each process has a wall clock of its own. */
  readonly hasClocks?: boolean
}

/**
 * A hub of several processes on one database, behind one proxy that prefers none of them. One of its sources has a
 * commit every 200 ms, and clients read and follow them. What they find, and what the database and the processes have,
 * is recorded.
 */
export class ReplicatedHub implements AsyncDisposable {
  readonly postgres: Postgres
  readonly database: string
  readonly processes: readonly HubProcess[]
  /** The git host of its sources. */
  readonly git: GitServer
  readonly record = new HeadRecord()
  readonly #sources: readonly MovingSource[]
  readonly #disposables: AsyncDisposable[]
  readonly #over = new AbortController()
  readonly #working: Promise<void>[] = []
  #committing = new AbortController()
  /** The number of commits. */
  #count = 0
  #followers: readonly Follower[] = []
  #prober: Prober | undefined
  /** The generations before the clients. */
  #before = 0
  /** The processes that were killed. */
  #killed = 0

  private constructor(
    parts: Pick<ReplicatedHub, 'postgres' | 'database' | 'processes' | 'git'> & {
      readonly sources: readonly MovingSource[]
    },
    disposables: AsyncDisposable[],
  ) {
    this.postgres = parts.postgres
    this.database = parts.database
    this.processes = parts.processes
    this.git = parts.git
    this.#sources = parts.sources
    this.#disposables = disposables
  }

  /** Starts all of them, and resolves when one leads and each serves the first commit. */
  static async start({
    processes = 3,
    sources = 1,
    followers = 1,
    rest = [],
    diskBytes,
    processDiskBytes,
    hasClocks = false,
  }: HubOptions = {}): Promise<ReplicatedHub> {
    const port = await freePort()
    const postgres = await startPostgres(programs ?? '', { port, ...(diskBytes !== undefined && { diskBytes }) })
    const git = await GitServer.start()
    const moving: MovingSource[] = []
    while (moving.length < sources)
      moving.push(await MovingSource.create(`team${moving.length === 0 ? '' : `-${moving.length}`}`, git))
    const database = await postgres.createDatabase()
    const lines = Object.fromEntries(moving.map(({ id, url }) => [id, [`url: ${url}`, 'every: 1s']]))
    const all: HubProcess[] = []
    const disk = processDiskBytes === undefined ? {} : { diskBytes: processDiskBytes }
    while (all.length < processes)
      all.push(await HubProcess.create(database, { sources: lines, rest, hasClock: hasClocks, ...disk }))
    const disposables = [...all, git, ...moving, postgres]
    const hub = new ReplicatedHub({ postgres, database, processes: all, git, sources: moving }, disposables)
    onTestFailed(() => {
      for (const { home, log } of all) process.stderr.write(`${home.path} said last:\n${log.slice(-LOG_CHARACTERS)}`)
    })
    for (const each of all) await each.start()
    await hub.#play(followers)
    return hub
  }

  async #play(followers: number): Promise<void> {
    await this.servesTip()
    await this.leader()
    const nginx: Nginx = await nginxBeforeAll(this.processes.map(({ port }) => port))
    this.#disposables.unshift(nginx)
    this.#before = this.record.newest
    const url = `${nginx.origin}/mcp`
    this.#followers = Array.from(
      { length: followers },
      (_, index) => this.#sources[index % this.#sources.length]!,
    ).flatMap((source) => Follower.of(url, source))
    for (const follower of this.#followers) await expect.poll(() => follower.connected, PATIENT).toBeGreaterThan(0)
    this.#prober = new Prober(url, this.#sources[0]!)
    this.#working.push(this.#look())
    this.commitOn()
  }

  /** Commits until `commitNoMore`. */
  commitOn(): void {
    this.#committing = new AbortController()
    const { signal } = this.#committing
    const committing = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.commit()
        await wait(COMMIT_MS, undefined, { signal }).catch(() => {})
      }
    }
    this.#working.push(committing())
  }

  async commitNoMore(): Promise<void> {
    this.#committing.abort()
    await Promise.all(this.#working.splice(1))
  }

  /** Commits to the next source. `files`: other files that the commit changes. */
  async commit(files: Readonly<Record<string, Uint8Array>> = {}): Promise<void> {
    await this.#sources[this.#count % this.#sources.length]?.commit(files)
    this.#count += 1
  }

  /** The process that leads, once one does. `other`: one that may still believe that it leads. */
  async leader(other?: HubProcess): Promise<HubProcess> {
    let found: HubProcess | undefined
    const find = (): HubProcess | undefined => (found = this.processes.find((one) => one !== other && one.leads))
    await expect.poll(find, { message: 'a process leads', ...PATIENT }).toBeDefined()
    if (found === undefined) throw new Error('No process leads')
    return found
  }

  /** Resolves when so many more generations were published. */
  async generations(count: number): Promise<void> {
    const until = this.record.newest + count
    await expect.poll(() => this.record.newest, { message: 'generations', ...PATIENT }).toBeGreaterThanOrEqual(until)
  }

  /** Resolves when the process says that the database is away, or that it is there again. */
  async away(process: HubProcess, isAway: boolean): Promise<void> {
    const find = async () => (await process.status()).away !== undefined
    await expect.poll(find, { message: `the database is ${isAway ? 'away' : 'there'}`, ...PATIENT }).toBe(isAway)
  }

  /** The row of the database that names the leader. */
  async lease(): Promise<{ readonly holder: string | null; readonly since: Date; readonly until: Date }> {
    const client = new Client({ connectionString: this.database })
    await client.connect()
    const { rows } = await client.query('SELECT holder, since, until FROM skillsyncd.leader')
    await client.end()
    return rows[0]
  }

  async kill(process: HubProcess): Promise<void> {
    this.#killed += 1
    await process.program.kill()
  }

  /** Resolves when all processes serve the last commits, and one generation. */
  async servesTip(processes = this.processes): Promise<void> {
    const served = async () => Promise.all(processes.map(async (each) => each.status()))
    const commits = async () => (await served()).map((status) => status.commits)
    const tips = Object.fromEntries(this.#sources.map(({ id, tip }) => [id, tip]))
    await expect
      .poll(commits, { message: 'the last commits are served', ...PATIENT })
      .toEqual(processes.map(() => tips))
    await this.#takeHeads(processes)
    const generations = new Set((await served()).map(({ generation }) => generation))
    expect(generations, 'all serve one generation').toEqual(new Set([this.record.newest]))
  }

  /** Resolves when each client has the last content. */
  async heardAll(): Promise<void> {
    const behind = () =>
      this.#followers.filter(({ hasLast }) => !hasLast).map(({ kind, commit, step }) => ({ kind, commit, step }))
    await expect.poll(behind, { message: 'each client has the last content', ...PATIENT }).toEqual([])
  }

  /** The notifications of each client, and its connections. */
  get heard(): readonly { readonly notified: number; readonly connected: number }[] {
    return this.#followers.map(({ notified, connected }) => ({ notified, connected }))
  }

  /**
   * Ends the commits, and checks all that was recorded, after faults that left a process to answer. They are over, and all
   * processes run.
   */
  async expectWell(): Promise<void> {
    await this.expectWhole()
    await this.#prober?.[Symbol.asyncDispose]()
    expect(this.#prober?.refused).toEqual([])
    expect(this.#prober?.broken.length).toBeLessThanOrEqual(this.#killed)
    expect(this.#prober?.answered).toBeGreaterThan(0)
  }

  /** `expectWell`, after a time in which no process answered. */
  async expectWhole(): Promise<void> {
    await this.commitNoMore()
    await this.servesTip()
    await this.heardAll()
    await this.#takeHeads(this.processes)
    expect(this.record.forks).toEqual([])
    const generations = this.record.newest - this.#before
    for (const { kind, failures, notified, connected } of this.#followers) {
      expect(failures, `failures of the client of ${kind}`).toEqual([])
      // A change is notified a second time if some process had not served it within the time of a hold.
      expect(notified, `notifications of the client of ${kind}`).toBeLessThanOrEqual(2 * generations + connected)
    }
    for (const { wentBack, home } of this.processes) {
      expect(wentBack).toEqual([])
      // In a process of its own, which sees the disk of the home.
      expect(await home.run('verify')).toMatchObject({ status: 0 })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    this.#committing.abort()
    await Promise.all(this.#working)
    await this.#prober?.[Symbol.asyncDispose]()
    for (const follower of this.#followers) await follower[Symbol.asyncDispose]()
    for (const each of this.#disposables) await each[Symbol.asyncDispose]()
  }

  /** The heads of a process that does not run are there, too. */
  async #takeHeads(processes: readonly HubProcess[]): Promise<void> {
    await this.record.takeDatabase(this.database)
    // SQLite cannot open a file of another mount namespace from here.
    for (const { home, disk } of processes) if (disk === undefined) this.record.takeStore(home.state)
  }

  /** The database may be away meanwhile. */
  async #look(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      await Promise.all(this.processes.map(async (each) => each.look()))
      await this.record.takeDatabase(this.database).catch(() => {})
      await wait(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }
}

/** The end of the log of a process that is shown with a failure. */
const LOG_CHARACTERS = 6_000
const COMMIT_MS = 200
const LOOK_MS = 200
/** They end what hangs, and judge nothing. */
const PATIENT = { timeout: 120_000, interval: 100 }
