import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { temporaryFolder } from '../temporary.ts'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../../dist/program/main.js', import.meta.url))

/** Where the code that one run compiled is found by the next: most runs of a test suite are of the same program. */
const CACHE = fileURLToPath(new URL('../../../dist/cache', import.meta.url))

/** The home of somebody who runs the program: what runs there sees nothing of this machine but PATH. */
export class Home implements AsyncDisposable {
  readonly path: string
  /** Where the program looks for a configuration if nothing else is said. */
  readonly configFile: string
  /** The state folder, if nothing else is said. */
  readonly state: string
  /** Every process that was started here gets these. */
  readonly env: Record<string, string>
  /** What starts the program in its place, with the program's own words after its own: strace, nsenter, faketime. */
  under: readonly string[] = []
  readonly #folder: AsyncDisposable
  readonly #programs: Program[] = []

  private constructor(path: string, folder: AsyncDisposable) {
    this.path = path
    this.#folder = folder
    this.configFile = join(path, 'config', 'skillsyncd', 'skillsyncd.yaml')
    this.state = join(path, 'state', 'skillsyncd')
    this.env = {
      PATH: process.env['PATH'] ?? '',
      LC_ALL: 'C',
      HOME: path,
      TMPDIR: join(path, 'tmp'),
      XDG_CACHE_HOME: CACHE,
      XDG_CONFIG_HOME: join(path, 'config'),
      XDG_STATE_HOME: join(path, 'state'),
      XDG_RUNTIME_DIR: join(path, 'run'),
    }
  }

  static async create(): Promise<Home> {
    const home = await Home.createShared()
    // A test that ran out of time disposes of nothing: what it started must not outlive it.
    onTestFinished(() => home[Symbol.asyncDispose]())
    return home
  }

  /** The lock, if nothing else is said. */
  get lockFile(): string {
    return join(this.configFile, '../skills.lock')
  }

  /** Makes one for several tests: `afterAll` disposes of it. */
  static async createShared(): Promise<Home> {
    const folder = await temporaryFolder()
    const home = new Home(folder.path, folder)
    await mkdir(CACHE, { recursive: true })
    for (const name of ['config/skillsyncd', 'run', 'tmp']) await mkdir(join(home.path, name), { recursive: true })
    return home
  }

  /** Writes the configuration: sources, each with its id and the lines of YAML that follow, and lines of the top level. */
  async configure(sources: Readonly<Record<string, readonly string[]>>, rest: readonly string[] = []): Promise<void> {
    const entries = Object.entries(sources).flatMap(([id, lines]) =>
      [`  - id: ${id}`].concat(lines.map((line) => `    ${line}`)),
    )
    const lines = ['sources:', ...entries, 'serve: { http: { port: 0 } }', ...rest]
    await writeFile(this.configFile, lines.map((line) => `${line}\n`).join(''))
  }

  /** Starts the program. It is killed with this home if it is still there. */
  start(...args: string[]): Program {
    const [file = '', ...words] = [...this.under, process.execPath, MAIN, ...args]
    const program = new Program(file, words, this)
    this.#programs.push(program)
    return program
  }

  /** Runs the program to its end. */
  async run(...args: string[]): Promise<Ended> {
    const program = this.start(...args)
    program.process.stdin.end()
    const ended = await program.ended()
    await expectJsonOfSchema(args, ended)
    return ended
  }

  /**
   * Runs a command line in this process, which is many times quicker: for what a command says and does, not for how a process
   * starts and ends. Paths in it are absolute, since the folder it runs in is that of the tests.
   */
  async command(...args: string[]): Promise<Ended> {
    return this.#command(args, [], false)
  }

  /** Approves skills of MCP servers as what is shown of them now, for which all of their files are fetched. */
  async approve(...targets: readonly string[]): Promise<Ended> {
    const shown = await this.command('approve', ...targets, '--json')
    const { id }: { readonly id: string } = JSON.parse(shown.stdout)
    return this.command('approve', ...targets, id)
  }

  /** Approves a skill by the line that its preview has, for which no file beside its SKILL.md is fetched. */
  async approvePreviewed(target: string): Promise<Ended> {
    const shown = await this.command('preview', target, '--json')
    const { approve }: { readonly approve: string } = JSON.parse(shown.stdout)
    return this.command(...approve.split(' ').slice(1))
  }

  /** Runs a command line as on a terminal, where these lines are typed, and then nothing more. */
  async typing(lines: Iterable<string> | AsyncIterable<string>, ...args: string[]): Promise<Ended> {
    return this.#command(args, lines, true)
  }

  async #command(
    args: readonly string[],
    lines: Iterable<string> | AsyncIterable<string>,
    isTTY: boolean,
  ): Promise<Ended> {
    // Most tests run child processes alone, and need not wait until the whole program is loaded here.
    const { run } = await import('../../../src/daemon/cli.ts')
    const [stdout, stderr] = [new Heard(isTTY), new Heard(isTTY)]
    const stdin = Object.assign(Readable.from(typed(lines)), { isTTY })
    const process = { stdin, stdout, stderr, on: () => undefined, exit: noExit, endSoon: () => undefined }
    const status = await run(args, process, environmentOf(this.env, this.path))
    const ended = { status, signal: null, stdout: stdout.text, stderr: stderr.text }
    await expectJsonOfSchema(args, ended)
    return ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()))
    await this.#folder[Symbol.asyncDispose]()
  }
}

/** Compares the JSON of a command with the schema, wherever a test runs it. */
async function expectJsonOfSchema(args: readonly string[], { stdout, signal }: Ended): Promise<void> {
  if (signal !== null || !args.includes('--json')) return
  const { expectOfSchema } = await import('../json/strict.ts')
  await expectOfSchema(args, stdout)
}

async function* typed(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`
}

/** What was written to it. */
class Heard extends Writable {
  readonly isTTY: boolean
  readonly #chunks: Buffer[] = []

  constructor(isTTY: boolean) {
    super()
    this.isTTY = isTTY
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }
}

function noExit(status: number): never {
  throw new Error(`A command ended the process, with status ${status}`)
}

/** How a process ended, and what it wrote. */
export interface Ended {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process of its own, as a person or a service manager starts it. */
export class Program {
  readonly process: ChildProcessWithoutNullStreams
  readonly #ended: Promise<Ended>
  readonly #waits = new Set<() => void>()
  #stdout = ''
  #stderr = ''
  #isOver = false

  /** `handed`: descriptors of ours that it has too, from 3 on. */
  constructor(
    file: string,
    args: readonly string[],
    { env, path }: Pick<Home, 'env' | 'path'>,
    handed: readonly number[] = [],
  ) {
    const stdio = ['pipe' as const, 'pipe' as const, 'pipe' as const, ...handed]
    this.process = spawn(file, args, { env, cwd: path, stdio }) as ChildProcessWithoutNullStreams
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => this.#heard(() => (this.#stdout += text)))
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => this.#heard(() => (this.#stderr += text)))
    // One that ends before it has read its input says why by its status.
    this.process.stdin.on('error', () => {})
    this.#ended = new Promise((resolve, reject) => {
      this.process.once('error', reject)
      this.process.once('close', (status, signal) => {
        this.#heard(() => (this.#isOver = true))
        resolve({ status, signal, stdout: this.#stdout, stderr: this.#stderr })
      })
    })
  }

  get pid(): number {
    return this.process.pid ?? 0
  }

  /** Everything on stderr so far. */
  get stderr(): string {
    return this.#stderr
  }

  /** The first line on stdout: of `start`, the address of MCP. */
  async line(): Promise<string> {
    return this.#firstLine(
      () => this.#stdout,
      () => true,
    )
  }

  /** The first line on stderr, from so many characters on, that is accepted, written already or to come. */
  async said(accepts: (line: string) => boolean, since = 0): Promise<string> {
    return this.#firstLine(() => this.#stderr.slice(since), accepts)
  }

  /** Resolves when it has ended by itself. */
  async ended(): Promise<Ended> {
    return this.#ended
  }

  /** Asks it to stop, as a service manager does. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.process.kill(signal)
    return this.#ended
  }

  /** Ends it on the spot; one that has ended is fine. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.#ended
  }

  #heard(take: () => void): void {
    take()
    for (const wake of this.#waits) wake()
    this.#waits.clear()
  }

  async #firstLine(text: () => string, accepts: (line: string) => boolean): Promise<string> {
    for (;;) {
      const line = text().split('\n').slice(0, -1).find(accepts)
      if (line !== undefined) return line
      if (this.#isOver) throw new Error(`It ended without the line: ${this.#stdout}${this.#stderr}`)
      await new Promise<void>((resolve) => this.#waits.add(resolve))
    }
  }
}
