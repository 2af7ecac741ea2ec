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

/** The program as a hub over one repository, which it follows by commands alone. Every client needs a token. */
export class Hub implements AsyncDisposable {
  readonly origin: string
  /** A token for the marketplace. */
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

  static async start(files: Readonly<Record<string, Content>>, config: HubConfig): Promise<Hub> {
    const [home, git, repository] = [await Home.create(), await GitServer.start(), await Repository.create()]
    await repository.commit(files)
    await configure(home, git.serve('team', repository), config)
    const { stdout } = await home.command('token', 'add', 'agents', '--scope', 'marketplace')
    const { origin } = new URL(await home.start('start').line())
    const hub = new Hub(home, git, repository, { origin, token: stdout.trim() })
    // It listens before its first pull is done.
    await hub.command('sync')
    return hub
  }

  get url(): string {
    return `${this.origin}/marketplace.git`
  }

  /** Commits upstream, and brings it to what is served. */
  async commit(files: Readonly<Record<string, Content | null>>): Promise<void> {
    await this.#repository.commit(files)
    await this.command('sync')
  }

  /** Goes on with another configuration. */
  async reconfigure(config: HubConfig): Promise<void> {
    await configure(this.home, `${this.#git.origin}/team.git`, config)
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

async function configure(home: Home, url: string, { packs, marketplace = [] }: HubConfig): Promise<void> {
  const lines = [
    'sources:',
    `  - { id: team, url: '${url}', every: 1h }`,
    'packs:',
    ...packs.map((line) => `  ${line}`),
    'serve:',
    "  http: { port: 0, public_url: 'https://hub.example.com' }",
    '  marketplace:',
    ...['name: acme', 'owner: Acme', ...marketplace].map((line) => `    ${line}`),
  ]
  await writeFile(home.configFile, lines.map((line) => `${line}\n`).join(''))
}
