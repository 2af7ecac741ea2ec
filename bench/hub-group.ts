import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startSeenOver } from './daemon.ts'
import type { SeenDaemon } from './daemon.ts'
import type { Ground } from './ground.ts'
import { listenOf, sessionOf } from './serve-clients.ts'
import { changed } from './skills.ts'
import type { ServedSkills } from './upstream.ts'
import { Streams, Wire } from './wire.ts'

/** The processes of one hub: one on SQLite alone, or several on one database, of which the first leads. */
export class HubGroup implements AsyncDisposable {
  static #changes = 0
  readonly #upstream: ServedSkills
  readonly #database: string | undefined
  readonly #members: { readonly folder: string; readonly daemon: SeenDaemon }[] = []
  #streams: readonly Streams[] = []

  /** A hub without processes yet. Without an address of a database it can have one. */
  constructor(upstream: ServedSkills, database?: string) {
    this.#upstream = upstream
    this.#database = database
  }

  /** Each process has an empty state folder at its start, and serves the skills when this resolves. */
  static async open(ground: Ground, count: number, upstream: ServedSkills, database?: string): Promise<HubGroup> {
    await using opened = new AsyncDisposableStack()
    const group = opened.use(new HubGroup(upstream, database))
    while (group.#members.length < count) await group.add(await ground.fresh())
    await group.daemons[0]?.sync()
    opened.move()
    return group
  }

  /** Starts one more process with the state of this folder, and waits until it serves something. */
  async add(folder: string): Promise<void> {
    const daemon = await startHub(folder, this.#upstream.url, this.#database)
    this.#members.push({ folder, daemon })
    const url = new URL('/readyz', daemon.url)
    while (!(await fetch(url)).ok) await pause(10)
  }

  get daemons(): readonly SeenDaemon[] {
    return this.#members.map(({ daemon }) => daemon)
  }

  /** All skills. Each change is about the first. */
  get uris(): readonly string[] {
    return this.#upstream.skills.documents.map((path) => `skill://bench/${path}`)
  }

  /** Opens so many listeners and so many sessions that are subscribed to the skill that changes, at each process. */
  async openClients(listeners: number, sessions: number): Promise<void> {
    this.closeClients()
    const [uri = ''] = this.uris
    this.#streams = await Promise.all(
      this.daemons.map(async ({ url }) => {
        const requests = Array.from({ length: listeners }, (_, index) => listenOf(url, index, uri))
        using wire = await Wire.open(url)
        for (let index = 0; index < sessions; index += 1) requests.push(await sessionOf(url, wire, uri))
        const streams = new Streams('notifications/resources/updated')
        await streams.open(url, requests)
        return streams
      }),
    )
  }

  closeClients(): void {
    for (const streams of this.#streams) streams[Symbol.dispose]()
    this.#streams = []
  }

  /** Resolves when each client of a process was notified once more, with the time. */
  async told(): Promise<readonly number[]> {
    return Promise.all(
      this.#streams.map(async (streams) => {
        await streams.toldAll()
        return performance.now()
      }),
    )
  }

  async commit(): Promise<void> {
    HubGroup.#changes += 1
    const { repository, skills } = this.#upstream
    const line = `Change ${HubGroup.#changes} of the hub.`
    await repository.commit({ [this.#document]: changed(skills.files[this.#document], line) })
  }

  /** A commit, and a request to pull at one of the processes. Returns the milliseconds until the last client of each knows. */
  async change(asked = 0): Promise<readonly number[]> {
    await this.commit()
    const told = this.told()
    const startMs = performance.now()
    await this.daemons[asked]?.sync()
    return (await told).map((atMs) => atMs - startMs)
  }

  async cpuMs(): Promise<readonly number[]> {
    return Promise.all(this.daemons.map(async ({ child }) => child.cpuMs()))
  }

  /** Ends the first process without notice, and returns the folder of its state. */
  async kill(): Promise<string> {
    const first = this.#members.shift()
    if (first === undefined) throw new TypeError('The hub has no process')
    await first.daemon.kill()
    return first.folder
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeClients()
    await Promise.all(this.daemons.map(async (daemon) => daemon[Symbol.asyncDispose]()))
  }

  get #document(): string {
    return this.#upstream.skills.documents[0] ?? ''
  }
}

/** A process of a hub; without a database, of a hub of one. */
async function startHub(folder: string, upstream: string, database?: string): Promise<SeenDaemon> {
  const rest: string[] = []
  if (database !== undefined) {
    const file = join(folder, 'database.url')
    await writeFile(file, `${database}\n`, { mode: 0o600 })
    rest.push(`store: { postgres: { url: { file: ${file} } } }`)
  }
  return startSeenOver(folder, { bench: [`url: ${upstream}`] }, { rest })
}
