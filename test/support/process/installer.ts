import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../temporary.ts'

const SKILLS = fileURLToPath(new URL('../../../node_modules/skills/bin/cli.mjs', import.meta.url))
const LOOPBACK_ONLY = new URL('../clients/loopback-only.mjs', import.meta.url)

/** A project of a person who has the `skills` installer from npm and no network but this machine. */
export interface Project extends AsyncDisposable {
  readonly folder: string
  /** Runs the installer to its end. */
  run(...args: readonly string[]): Promise<{ readonly status: number | null; readonly printed: string }>
  /** What is installed, by path from the folder of all skills. */
  installed(): Promise<ReadonlyMap<string, Buffer>>
}

/** `limitMs`: what takes longer is killed. */
export async function openProject({ limitMs }: { readonly limitMs?: number } = {}): Promise<Project> {
  const home = await temporaryFolder()
  const project = await temporaryFolder()
  const installedIn = join(project.path, '.claude', 'skills')
  return {
    folder: project.path,
    async run(...args) {
      const child = spawn(process.execPath, [SKILLS, ...args], {
        cwd: project.path,
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(limitMs !== undefined && { timeout: limitMs, killSignal: 'SIGKILL' }),
        env: {
          PATH: process.env['PATH'],
          HOME: home.path,
          DISABLE_TELEMETRY: '1',
          NO_COLOR: '1',
          CI: '1',
          NODE_OPTIONS: `--import ${LOOPBACK_ONLY.href}`,
        },
      })
      const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
      return { status, printed: out + err }
    },
    async installed() {
      if (!existsSync(installedIn)) return new Map()
      const entries = await readdir(installedIn, { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
      return new Map(
        await Promise.all(
          files.map(async (file) => [file.slice(installedIn.length + 1), await readFile(file)] as const),
        ),
      )
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]()
      await project[Symbol.asyncDispose]()
    },
  }
}
