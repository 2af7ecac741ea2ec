import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { skill } from '../e2e/world.ts'
import { isListing } from '../scenarios/hub.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import type { Identity } from '../support/http/certificates.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'
import { Witness } from './witness.ts'

/** A daemon that polls the source `team` each second, the git server behind it, and a witness of what it serves. */
export class Scene implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly repository: Repository
  #daemon: Program | undefined
  #witness: Witness | undefined
  #commits = 0
  /** How much of what the daemon said belongs to faults that are over. */
  #over = 0
  /** How many the daemon had open before the fault. */
  #descriptors = 0

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.repository = repository
  }

  /** `source`: more lines of the source; `rest`: lines of the top level of the configuration; `tls`: what the server shows. */
  static async set(source: readonly string[] = [], rest: readonly string[] = [], tls?: Identity): Promise<Scene> {
    const scene = new Scene(await Home.create(), await GitServer.start(tls), await Repository.create())
    await scene.commit()
    const url = scene.git.serve('team', scene.repository)
    await scene.home.configure({ team: [`url: ${url}`, 'every: 1s', ...source] }, rest)
    return scene
  }

  /** Starts the daemon, unless it is given, and the witness once something of each of the sources is served. */
  async play(sources: readonly string[] = ['team'], daemon = this.home.start('start')): Promise<void> {
    this.#daemon = daemon
    const url = await this.#daemon.line()
    for (const id of sources) await this.updated(id)
    this.#witness = await Witness.at(url)
    this.#descriptors = await descriptorsOf(this.daemon.pid)
  }

  get daemon(): Program {
    if (this.#daemon === undefined) throw new Error('No daemon was started')
    return this.#daemon
  }

  get witness(): Witness {
    if (this.#witness === undefined) throw new Error('Nothing is served yet')
    return this.#witness
  }

  /** Where something of the state folder is seen from here: the daemon may have a disk of its own. */
  seen(...names: readonly string[]): string {
    return join(`/proc/${this.daemon.pid}/root`, this.home.state, ...names)
  }

  /** A commit that changes one skill, and leaves the others. */
  async commit(): Promise<string> {
    this.#commits += 1
    const body = `commit ${this.#commits}`
    return this.repository.commit({
      'moving/SKILL.md': skill('moving', body),
      'moving/references/more.md': `More of ${body}\n`,
      'still/SKILL.md': skill('still', 'always the same'),
      'still/data.bin': Buffer.alloc(20_000, 'still'),
    })
  }

  /** Resolves once a source has the problem, of which the last recovery was not. Returns the line that says so. */
  async problem(code: string, source = 'team'): Promise<string> {
    const words = ['"pull-failed"', `"source":"${source}"`, `"code":"${code}"`]
    return this.daemon.said((line) => words.every((word) => line.includes(word)), this.#over)
  }

  /** Resolves once a source was updated, or once it was to the commit. */
  async updated(source: string, commit = ''): Promise<void> {
    const words = ['"source-updated"', `"source":"${source}"`, commit]
    await this.daemon.said((line) => words.every((word) => line.includes(word)))
  }

  /** How often the source was looked at. */
  get looks(): number {
    return this.git.requests.filter(isListing).length
  }

  /** What waits for a line of the daemon that was not there when this was asked for. */
  fromNow(): (accepts: (line: string) => boolean) => Promise<string> {
    const before = new Set(this.daemon.stderr.split('\n'))
    return async (accepts) =>
      // Who waits for what the witness is to find would wait for ever once it has failed.
      Promise.race([this.daemon.said((line) => !before.has(line) && accepts(line)), this.witness.failure])
  }

  /**
   * Makes a commit when the fault is gone, and waits until it is served. Nobody helps, and no more than two looks are needed:
   * one can be under way that began before.
   */
  async recovers(): Promise<void> {
    const before = this.git.requests.length
    const commit = await this.commit()
    await this.updated('team', commit)
    this.#over = this.daemon.stderr.length
    const since = this.git.requests.slice(before).filter(({ url }) => url.includes('/team.git/'))
    const fetched = since.findIndex(({ body }) => body.includes(`want ${commit}`))
    expect(since.slice(0, fetched).filter(isListing).length, 'looks until it is fetched').toBeLessThanOrEqual(2)
    await this.witness.heardAll()
  }

  /** Hears the witness, and looks for what the daemon left: processes, descriptors, scratch. What is under way may end first. */
  async expectWell(): Promise<void> {
    await this.witness.testify()
    const { pid } = this.daemon
    await expect.poll(async () => childrenOf(pid), left('processes')).toEqual([])
    await expect.poll(async () => descriptorsOf(pid), left('descriptors')).toBeLessThan(this.#descriptors + FEW)
    await expect.poll(async () => readdir(this.seen('tmp')), left('scratch')).toEqual([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#witness?.[Symbol.asyncDispose]()
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}

function left(what: string) {
  return { message: `${what} that are left`, timeout: 60_000 }
}

/** Connections to the git server that are kept for the next poll, and a look that is under way. */
const FEW = 10

/** The command lines of the processes that a process started and that are there still. */
export async function childrenOf(pid: number): Promise<readonly string[]> {
  const threads = await readdir(`/proc/${pid}/task`)
  const lists = threads.map(async (thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8'))
  const pids = (await Promise.all(lists))
    .join(' ')
    .split(' ')
    .filter((text) => text.trim() !== '')
  const lines = pids.map(async (child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter((line) => line !== '').map((line) => line.replaceAll('\0', ' '))
}

/** How many descriptors a process has open. */
async function descriptorsOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length
}
