import { writeFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import type { Content } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'

/** The marketplace of a hub, as its configuration has it. */
export interface HubConfig {
  /** Lines of YAML below `packs`. */
  readonly packs: readonly string[]
  /** Lines of YAML in `serve.marketplace`, besides its name and its owner. */
  readonly marketplace?: readonly string[]
}

/** A pack `writing`, with the skills whose paths begin with `write-`. */
export const WRITING: HubConfig = { packs: ['- { id: writing, include: [{ path: write-* }] }'] }

/** The machine of a hub, and how often it looks for a commit. */
export interface HubPlace {
  /** The address of the git server that it pulls from. */
  readonly upstream: string
  readonly every: string
  /** Keys of `serve.http`, for which every client needs a token. */
  readonly http: string
  /** The program that starts it, with its arguments; empty: it is started as it is. */
  readonly under: readonly string[]
}

/** On loopback. It pulls when a command says so. */
const LOOPBACK: HubPlace = {
  upstream: '127.0.0.1',
  every: '1h',
  http: "port: 0, public_url: 'https://hub.example.com'",
  under: [],
}

/** The program as a hub over one repository. Every client needs a token. */
export class Hub implements AsyncDisposable {
  readonly origin: string
  /** A token for the marketplace and for MCP. */
  readonly token: string
  readonly home: Home
  readonly #git: GitServer
  readonly #repository: Repository

  private constructor(home: Home, git: GitServer, repository: Repository, served: Pick<Hub, 'origin' | 'token'>) {
    this.home = home
    this.#git = git
    this.#repository = repository
    this.origin = served.origin
    this.token = served.token
  }

  static async start(files: Readonly<Record<string, Content>>, config: HubConfig, place = LOOPBACK): Promise<Hub> {
    const [home, repository] = [await Home.create(), await Repository.create()]
    const git = await GitServer.start(undefined, place.upstream)
    await repository.commit(files)
    home.under = place.under
    await configure(home, git.serve('team', repository), config, place)
    const { stdout } = await home.command('hub', 'token', 'add', 'agents', '--scope', 'marketplace,skills,contract')
    const { origin } = new URL(await home.start('start').line())
    const hub = new Hub(home, git, repository, { origin, token: stdout.trim() })
    // It listens before its first pull is done.
    await hub.command('sync')
    return hub
  }

  /** The address of the marketplace. */
  get url(): string {
    return `${this.origin}/marketplace.git`
  }

  /** The address of the repository that it follows. */
  get upstream(): string {
    return `${this.#git.origin}/team.git`
  }

  /** Commits upstream. The hub has to find out by itself. */
  async push(files: Readonly<Record<string, Content | null>>): Promise<void> {
    await this.#repository.commit(files)
  }

  /** Commits upstream, and brings it to what is served. */
  async commit(files: Readonly<Record<string, Content | null>>): Promise<void> {
    await this.push(files)
    await this.command('sync')
  }

  /** Goes on with another configuration. */
  async reconfigure(config: HubConfig): Promise<void> {
    await configure(this.home, this.upstream, config, LOOPBACK)
    await this.command('reload')
  }

  /** Runs a command that has to succeed, and returns its output. */
  async command(...args: readonly string[]): Promise<string> {
    const ended = await this.home.command(...args)
    expect(ended, args.join(' ')).toMatchObject({ status: 0 })
    return ended.stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.#git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}

async function configure(
  home: Home,
  url: string,
  { packs, marketplace = [] }: HubConfig,
  { every, http }: HubPlace,
): Promise<void> {
  const lines = [
    'sources:',
    `  - { id: team, url: '${url}', every: ${every} }`,
    'packs:',
    ...packs.map((line) => `  ${line}`),
    'serve:',
    `  http: { ${http} }`,
    '  marketplace:',
    ...['name: acme', 'owner: Acme', ...marketplace].map((line) => `    ${line}`),
  ]
  await writeFile(home.configFile, lines.map((line) => `${line}\n`).join(''))
}
