import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '../../../src/base/async/clock.ts'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import type { OpenScratch } from '../../../src/features/marketplace/marketplace-packfile.ts'
import type { CountUse } from '../../../src/serve/mcp/core/methods.ts'
import type { Scope } from '../../../src/serve/principal.ts'
import { Repository } from '../git/repository.ts'
import type { Content } from '../git/repository.ts'
import { serve } from '../served.ts'
import type { Served } from '../served.ts'
import { temporaryFolder } from '../temporary.ts'

const run = promisify(execFile)

/** Lines of YAML: a marketplace `acme`. */
export const MARKETPLACE = ['serve:', '  marketplace: { name: acme, owner: Acme, description: Skills of Acme }']
/** Lines of YAML: a pack `writing`, with the skills whose paths begin with `write-`. */
export const PACKS = ['packs:', '  - id: writing', '    description: To write', '    include: [{ path: write-* }]']

/** The text of a SKILL.md. */
export const skill = (name: string, body = 'body') => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`

interface SceneOptions {
  readonly marketplace?: readonly string[]
  readonly config?: readonly string[]
  /** Lines of YAML of the source, after its address. */
  readonly source?: readonly string[]
  readonly more?: Readonly<Record<string, Repository>>
  /** The clock of the daemon. */
  readonly clock?: Clock
  /** The clock of the HTTP side, in milliseconds. */
  readonly now?: () => number
  /** In place of the file of the state folder that a pack is written to. */
  readonly openScratch?: OpenScratch
  /** Counts what is answered. */
  readonly use?: CountUse
}

/** A hub with a marketplace over one repository. */
export class Scene implements AsyncDisposable {
  readonly served: Served
  readonly #repository: Repository
  readonly #clones: AsyncDisposableStack

  private constructor(served: Served, repository: Repository, clones: AsyncDisposableStack) {
    this.served = served
    this.#repository = repository
    this.#clones = clones
  }

  static async serving(files: Readonly<Record<string, Content>>, options: SceneOptions = {}): Promise<Scene> {
    const clones = new AsyncDisposableStack()
    const repository = clones.use(await Repository.create())
    await repository.commit(files)
    const block = ['serve:', '  marketplace:', '    name: acme', '    owner: Acme', '    description: Skills of Acme']
    const config = [...(options.config ?? PACKS), ...block, ...(options.marketplace ?? [])]
    const { source, more, now, openScratch, clock, use } = options
    const served = await serve(repository, {
      config,
      ...(source !== undefined && { source }),
      ...(more !== undefined && { more }),
      ...(clock !== undefined && { clock }),
      ...(openScratch !== undefined && { marketplace: { openScratch } }),
      ...(now !== undefined && { now }),
      ...(use !== undefined && { use }),
    })
    return new Scene(served, repository, clones)
  }

  /** A hub that needs tokens, with two packs. */
  static async hub(files: Readonly<Record<string, Content>>): Promise<Scene> {
    const other = ['  - id: other', '    include: [{ name: tidy }]']
    return Scene.serving(files, {
      config: [...PACKS, ...other],
      marketplace: ['  http: { public_url: https://skills.example.com }'],
    })
  }

  get origin(): string {
    return this.served.http.url
  }

  get url(): string {
    return `${this.origin}/marketplace.git`
  }

  /** The commit that is served; with a token, as its holder sees it. */
  async tip(token?: string): Promise<string> {
    const url = token === undefined ? this.url : withToken(this.url, token)
    const [tip = ''] = (await git(['ls-remote', url, 'HEAD'])).split('\t')
    return tip
  }

  async commit(files: Readonly<Record<string, Content | null>>): Promise<void> {
    await this.#repository.commit(files)
    await this.served.sync()
  }

  async token(scopes: readonly Scope[], packs?: readonly string[]): Promise<string> {
    const { secret, sha256 } = newToken()
    const created = new Date().toISOString()
    const name = `token-${(this.#made += 1)}`
    await this.served.daemon.parts.tokens.add({ name, sha256, scopes, created, ...(packs !== undefined && { packs }) })
    return secret
  }

  #made = 0

  async emptyClone(): Promise<string> {
    const folder = this.#clones.use(await temporaryFolder())
    await git(['init', '--quiet', folder.path])
    return folder.path
  }

  async clone(before: readonly string[] = [], flags: readonly string[] = [], token?: string): Promise<string> {
    return this.cloneOf(token === undefined ? this.url : withToken(this.url, token), before, flags)
  }

  async cloneOf(url: string, before: readonly string[] = [], flags: readonly string[] = []): Promise<string> {
    const folder = this.#clones.use(await temporaryFolder())
    const path = join(folder.path, 'clone')
    await git([...before, 'clone', '--quiet', ...flags, url, path])
    return path
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]()
    await this.#clones.disposeAsync()
  }
}

const ENVIRONMENT = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', LC_ALL: 'C' }

/** Runs git as no person, and returns what it prints. */
export async function git(args: readonly string[], cwd?: string): Promise<string> {
  const { stdout, stderr } = await run('git', [...args], { cwd, env: ENVIRONMENT })
  return args[0] === 'fsck'
    ? (stdout + stderr).replace(/^(?:Checking .*|notice: .*|dangling .*)\n/gm, '').trim()
    : stdout.trim()
}

/** Runs git as no person, with this on its standard input. */
export async function gitWith(input: string, args: readonly string[], cwd: string): Promise<void> {
  const running = run('git', [...args], { cwd, env: ENVIRONMENT })
  running.child.stdin?.end(input)
  await running
}

/** The address with a token as the password. */
export function withToken(address: string, token: string): string {
  const url = new URL(address)
  url.username = 'token'
  url.password = token
  return url.href
}
