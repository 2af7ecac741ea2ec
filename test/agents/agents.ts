import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)

/** The agents, and where each has its program below `node_modules`. */
const AGENTS = {
  claude: { package: '@anthropic-ai/claude-code@2.1.331', program: '@anthropic-ai/claude-code-linux-x64/claude' },
  codex: {
    package: '@openai/codex@0.169.0',
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

/** A home of a user, in which agents are run. */
export class AgentHome implements AsyncDisposable {
  readonly path: string
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
    await mkdir(join(folder.path, 'project'))
    return new AgentHome(folder.path, folder)
  }

  /** Runs the agent in an empty folder, and returns its standard output. */
  async run(agent: AgentName, ...args: readonly string[]): Promise<string> {
    const program = join(FOLDER, 'node_modules', AGENTS[agent].program)
    const command = /\.m?js$/.test(program) ? [process.execPath, program] : [program]
    const [file = '', ...before] = command
    const options = { cwd: join(this.path, 'project'), env: this.#environment(), timeout: 120_000, maxBuffer: 2 ** 26 }
    const child = run(file, [...before, ...args], options)
    child.child.stdin?.end('y\n')
    const { stdout } = await child
    return stdout
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
