import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)

/** The agents, and where each has its program below `node_modules`. */
const AGENTS = {
  claude: { package: '@anthropic-ai/claude-code@2.1.332', program: '@anthropic-ai/claude-code-linux-x64/claude' },
  codex: {
    package: '@openai/codex@0.171.0',
    program: '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
  },
  copilot: { package: '@github/copilot@1.0.102', program: '@github/copilot-linux-x64/copilot' },
  gemini: { package: '@google/gemini-cli@0.61.0', program: '@google/gemini-cli/bundle/gemini.js' },
  skills: { package: 'skills@1.7.4', program: 'skills/bin/cli.mjs' },
} as const

export type AgentName = keyof typeof AGENTS

/** Kept between runs, since it is over a gigabyte. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/agents/', import.meta.url))

/**
 * Installs the agents without their scripts, if they are not here. Returns the reason why they cannot be had;
 * `undefined` if they are here.
 */
export async function installAgents(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'these agents are for Linux on x64'
  if (Object.values(AGENTS).every(({ program }) => existsSync(join(FOLDER, 'node_modules', program)))) return undefined
  await mkdir(FOLDER, { recursive: true })
  await writeFile(join(FOLDER, 'package.json'), '{ "private": true }\n')
  const packages = Object.values(AGENTS).map((agent) => agent.package)
  const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund']
  const installing = run('npm', [...flags, ...packages], { cwd: FOLDER, maxBuffer: 2 ** 24 })
  return installing.then(
    () => undefined,
    (error: unknown) => `npm cannot install them: ${String(error).slice(0, 300)}`,
  )
}

const NOTHING: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} }

/** A home of a user, in which agents are run. */
export class AgentHome implements AsyncDisposable {
  readonly path: string
  /** Variables that every agent here gets, besides its own. */
  readonly env: Record<string, string> = {}
  /** The program that starts the agents, with its arguments; empty: they are started as they are. */
  under: readonly string[] = []
  readonly #folder: AsyncDisposable

  private constructor(path: string, folder: AsyncDisposable) {
    this.path = path
    this.#folder = folder
  }

  /** `token`: given to git for the host, by `~/.netrc`. */
  static async with(token: string, origin: string): Promise<AgentHome> {
    const folder = await temporaryFolder()
    const netrc = `machine ${new URL(origin).hostname} login token password ${token}\n`
    await writeFile(join(folder.path, '.netrc'), netrc, { mode: 0o600 })
    return AgentHome.in(folder.path, folder)
  }

  /** Makes one in a folder that is there, with what is in it. */
  static async in(path: string, folder: AsyncDisposable = NOTHING): Promise<AgentHome> {
    await mkdir(join(path, 'project'))
    await mkdir(join(path, '.codex'))
    return new AgentHome(path, folder)
  }

  /** Runs the agent in an empty folder, and returns its standard output. */
  async run(agent: AgentName, ...args: readonly string[]): Promise<string> {
    const [file, options] = [this.#command(agent), { ...this.#options(), timeout: 120_000, maxBuffer: 2 ** 26 }]
    const child = run(file[0], [...file.slice(1), ...args], options)
    child.child.stdin?.end('y\n')
    const { stdout } = await child
    return stdout
  }

  /** Starts a session of Codex as an editor does. It lasts until it is disposed. */
  startSession(): AsyncDisposable {
    const [file, ...before] = this.#command('codex')
    const child = spawn(file, [...before, 'app-server'], this.#options())
    const ended = once(child, 'close')
    child.stdout.resume()
    child.stderr.resume()
    const params = { clientInfo: { name: 'test', version: '1.0.0' } }
    for (const message of [{ id: 1, method: 'initialize', params }, { method: 'initialized' }])
      child.stdin.write(`${JSON.stringify(message)}\n`)
    const dispose = async (): Promise<void> => {
      child.kill()
      await ended
    }
    return { [Symbol.asyncDispose]: dispose }
  }

  #command(agent: AgentName): [string, ...string[]] {
    const program = join(FOLDER, 'node_modules', AGENTS[agent].program)
    const command = [...this.under, ...(/\.m?js$/.test(program) ? [process.execPath, program] : [program])]
    return command as [string, ...string[]]
  }

  #options() {
    return { cwd: join(this.path, 'project'), env: { ...this.#environment(), ...this.env } }
  }

  #environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: this.path,
      CODEX_HOME: join(this.path, '.codex'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      COPILOT_AUTO_UPDATE: 'false',
      DO_NOT_TRACK: '1',
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
