import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { GitServer } from '../../support/git/git-server.ts'
import type { Repository } from '../../support/git/repository.ts'
import { Authority } from '../../support/http/certificates.ts'
import { ProxyServer } from '../../support/http/proxy-server.ts'
import { MAIN } from '../../support/process/program.ts'
import { temporaryFolder } from '../../support/temporary.ts'

/** The hosts of the addresses in the documents. */
const HOSTS = ['github.com', 'git.example.com']

/** How a line of a shell ended. */
export interface LineEnd {
  readonly status: number | null
  readonly stdout: string
  /** Both outputs, the standard one first. */
  readonly output: string
}

/**
 * A home with a shell, in which the commands of the documents run as they stand there: `skillsyncd` is the built
 * program, and a proxy leads each address to one git server that has a certificate for its host.
 */
export class ShellHome implements AsyncDisposable {
  /** The home of the machine that the commands run on. */
  path: string
  /** The folder in which the next line runs. */
  cwd: string
  readonly git: GitServer
  readonly #root: AsyncDisposable & { readonly path: string }
  readonly #proxy: ProxyServer
  readonly #repositories: Readonly<Record<string, Repository>>
  readonly #kept = new AsyncDisposableStack()
  #daemon: { readonly process: ChildProcess; readonly ended: Promise<number | null> } | undefined

  private constructor(
    root: AsyncDisposable & { readonly path: string },
    git: GitServer,
    proxy: ProxyServer,
    repositories: Readonly<Record<string, Repository>>,
  ) {
    this.#root = root
    this.git = git
    this.#proxy = proxy
    this.#repositories = repositories
    this.path = join(root.path, 'home')
    this.cwd = this.path
  }

  /** `repositories`: by owner and name. Each host has all of them. */
  static async create(repositories: Readonly<Record<string, Repository>>): Promise<ShellHome> {
    const root = await temporaryFolder()
    const authority = new Authority()
    const git = await GitServer.start(authority.vouchFor(HOSTS))
    for (const [name, repository] of Object.entries(repositories)) git.serve(name, repository)
    const proxy = await ProxyServer.start(git.origin)
    const program = join(root.path, 'bin', 'skillsyncd')
    for (const folder of ['bin', 'home', 'tmp']) await mkdir(join(root.path, folder))
    await writeFile(join(root.path, 'authority.pem'), authority.cert)
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
    await chmod(program, 0o755)
    return new ShellHome(root, git, proxy, repositories)
  }

  get configFile(): string {
    return join(this.path, '.config/skillsyncd/skillsyncd.yaml')
  }

  get lockFile(): string {
    return join(this.configFile, '../skills.lock')
  }

  repository(name: string): Repository {
    const repository = this.#repositories[name]
    if (repository === undefined) throw new Error(`There is no repository ${name}`)
    return repository
  }

  /** Runs a line to its end. The input is what follows on the standard input, which then ends. */
  async run(line: string, input = ''): Promise<LineEnd> {
    const shell = this.#start(line)
    const written = Promise.all([text(shell.stdout!), text(shell.stderr!)])
    // A program that ends before it has read its input says why by its status.
    shell.stdin!.on('error', () => {}).end(input)
    const [status] = (await once(shell, 'close')) as [number | null]
    const [stdout, stderr] = await written
    return { status, stdout, output: stdout + stderr }
  }

  /** Starts the daemon with a line that stays in the foreground, and returns its first output. */
  async start(line: string): Promise<string> {
    const shell = this.#start(`exec ${line}`)
    const ended = once(shell, 'close').then(([status]: (number | null)[]) => status ?? null)
    this.#daemon = { process: shell, ended }
    let heard = ''
    shell.stderr!.on('data', (chunk: Buffer) => (heard += chunk.toString()))
    const first = once(shell.stdout!, 'data').then(([chunk]: Buffer[]) => chunk?.toString())
    const output = await Promise.race([first, ended])
    if (typeof output !== 'string') throw new Error(`"${line}" ended with ${output}: ${heard}`)
    return output
  }

  /** Resolves with the status of the daemon when it has ended. */
  async daemonEnd(): Promise<number | null> {
    return (await this.#daemon?.ended) ?? null
  }

  /** Ends the daemon, if it still runs. */
  async stop(): Promise<void> {
    this.#daemon?.process.kill('SIGTERM')
    await this.#daemon?.ended
    this.#daemon = undefined
  }

  /** Changes the configuration, as a person does. */
  async edit(change: (text: string) => string): Promise<void> {
    await writeFile(this.configFile, change(await this.configuration()))
  }

  async configuration(): Promise<string> {
    return readFile(this.configFile, 'utf8')
  }

  /** The next lines run on another machine, which has nothing but these sources, or nothing at all. */
  async move(name: string, configuration?: string): Promise<void> {
    await this.stop()
    this.return(name)
    await mkdir(join(this.configFile, '..'), { recursive: true })
    if (configuration !== undefined) await writeFile(this.configFile, configuration)
  }

  /** The next lines run on another machine, which has the configuration and the lock of this one. */
  async clone(name: string): Promise<void> {
    const [configuration, lock] = [await this.configuration(), await readFile(this.lockFile)]
    await this.move(name, configuration)
    await writeFile(this.lockFile, lock)
  }

  /** The next lines run on a machine that was left. */
  return(name: string): void {
    this.path = join(this.#root.path, name)
    this.cwd = this.path
  }

  /** Disposes of the resource with this home. */
  keep<T extends AsyncDisposable>(resource: T): T {
    return this.#kept.use(resource)
  }

  /** From now on no host is reached. */
  async disconnect(): Promise<void> {
    await this.#proxy.goAway()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#kept.disposeAsync()
    await this.#proxy.goAway()
    await this.git[Symbol.asyncDispose]()
    await this.#root[Symbol.asyncDispose]()
  }

  #start(line: string): ChildProcess {
    const env = {
      PATH: [join(this.#root.path, 'bin'), process.env['PATH'] ?? ''].join(delimiter),
      HOME: this.path,
      TMPDIR: join(this.#root.path, 'tmp'),
      LC_ALL: 'C',
      HTTPS_PROXY: this.#proxy.url,
      NODE_EXTRA_CA_CERTS: join(this.#root.path, 'authority.pem'),
    }
    return spawn('bash', ['-c', line], { cwd: this.cwd, env })
  }
}
