import { dirname } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'
import { TinyDisk } from '../../support/process/tiny-disk.ts'
import { TcpLink } from '../../support/tcp-link.ts'
import { WallClock } from '../wall-clock.ts'

interface ProcessOptions {
  /** Lines of each source. */
  readonly sources: Readonly<Record<string, readonly string[]>>
  /** Lines of the top level of the configuration. */
  readonly rest?: readonly string[]
  /** True if it has a wall clock of its own. */
  readonly hasClock?: boolean
  /** The size of the disk of its state folder, if it has one of its own. */
  readonly diskBytes?: number
}

/** One process of a hub, at the same port after each start, with a link of its own to the database. */
export class HubProcess implements AsyncDisposable {
  readonly home: Home
  readonly link: TcpLink
  readonly port: number
  /** Its wall clock, if the test sets it. */
  readonly clock: WallClock | undefined
  /** The disk of its state folder, if it has one of its own. */
  readonly disk: TinyDisk | undefined
  /** Each generation that it was found to serve after a later one. */
  readonly wentBack: string[] = []
  #program: Program | undefined
  #served = 0

  private constructor({
    home,
    link,
    port,
    clock,
    disk,
  }: Pick<HubProcess, 'home' | 'link' | 'port' | 'clock' | 'disk'>) {
    this.home = home
    this.link = link
    this.port = port
    this.clock = clock
    this.disk = disk
  }

  /** `database`: an address with a port of the loopback address. */
  static async create(database: string, options: ProcessOptions): Promise<HubProcess> {
    const { sources, rest = [], hasClock = false, diskBytes } = options
    const home = await Home.create()
    const url = new URL(database)
    const link = await TcpLink.to(Number(url.port))
    url.port = `${link.port}`
    home.env['SKILLSYNCD_DATABASE_URL'] = url.href
    await home.configure(sources, ['store:', '  postgres:', '    url: { env: SKILLSYNCD_DATABASE_URL }', ...rest])
    const clock = hasClock ? new WallClock(home) : undefined
    await clock?.jump(0)
    const size = diskBytes === undefined ? undefined : { bytes: diskBytes, inodes: MOST_FILES }
    const disk = size && (await TinyDisk.at(home, dirname(home.state), size))
    return new HubProcess({ home, link, port: await freePort(), clock, disk })
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error('The process was not started')
    return this.#program
  }

  /** All that the present process has said. */
  get log(): string {
    return this.#program?.stderr ?? ''
  }

  async start(): Promise<void> {
    this.#program = this.home.start('start', '--port', `${this.port}`)
    await this.#program.line()
  }

  /** True if the process that runs has said last that it leads. It can be frozen. */
  get leads(): boolean {
    const { process, stderr } = this.program
    if (process.exitCode !== null || process.signalCode !== null) return false
    return roleIn(stderr)?.leads === true
  }

  /** The id of the present process among those of the hub, once it has led. */
  get id(): string | undefined {
    return roleIn(this.program.stderr)?.replica
  }

  /** Resolves when the process that runs says that it leads, or leads no more, after so many characters of its log. */
  async role(leads: boolean, since = 0): Promise<void> {
    await this.program.said((line) => line.includes('"hub-role"') && line.includes(`"leads":${leads}`), since)
  }

  /** Looks at what it serves. One that does not run serves nothing. */
  async look(): Promise<void> {
    const metrics = await fetch(`http://127.0.0.1:${this.port}/metrics`, { signal: AbortSignal.timeout(LOOK_MS) }).then(
      async (response) => response.text(),
      () => '',
    )
    const text = /^skillsyncd_catalog_generation (\d+)$/m.exec(metrics)?.[1]
    if (text === undefined) return
    const served = Number(text)
    if (served < this.#served) this.wentBack.push(`${served} after ${this.#served}`)
    this.#served = served
  }

  /** The generation that it was found to serve last. */
  get served(): number {
    return this.#served
  }

  /** The commit that it serves of each source, and the generation. */
  async status(): Promise<{
    readonly generation: number
    readonly commits: Readonly<Record<string, string | undefined>>
    readonly away: unknown
  }> {
    const { stdout } = await this.home.command('status', '--json')
    const { generation, sources, replicas }: Shown = JSON.parse(stdout)
    const commits = Object.fromEntries(sources.map(({ id, served }) => [id, served?.commit]))
    return { generation, commits, away: replicas?.away }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program?.process.kill('SIGCONT')
    await this.home[Symbol.asyncDispose]()
    await this.link[Symbol.asyncDispose]()
  }
}

interface Shown {
  readonly generation: number
  readonly sources: readonly { readonly id: string; readonly served?: { readonly commit: string } }[]
  readonly replicas?: { readonly away?: unknown }
}

interface Role {
  readonly replica: string
  readonly leads: boolean
}

function roleIn(log: string): Role | undefined {
  const line = log.split('\n').findLast((each) => each.includes('"hub-role"') && each.endsWith('}'))
  return line === undefined ? undefined : JSON.parse(line)
}

/** More than there are of a small hub. */
const MOST_FILES = 2_000

/** A frozen process does not answer. */
const LOOK_MS = 1_000
