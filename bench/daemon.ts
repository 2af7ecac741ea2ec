import './run-the-build.ts'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Config } from '../src/daemon/config.ts'
import type { SyncEnd } from '../src/daemon/sync-end.ts'

const { readConfig } = await import('../src/daemon/config.ts')
const { request } = await import('../src/daemon/requests.ts')
const { SYNC_END } = await import('../src/daemon/sync-end.ts')

export interface RunningDaemon extends AsyncDisposable {
  /** Where it serves MCP. */
  readonly url: string
  /** What a webhook would do: the daemon pulls now. Resolves when it is done. */
  sync(): Promise<void>
}

/** The real program, over a configuration that lets nothing but a trigger cause a pull after its first. */
export async function startDaemon(
  folder: string,
  upstream: string,
  logged: 'warn' | 'error' = 'warn',
): Promise<RunningDaemon> {
  return startOver(folder, [`url: ${upstream}`], logged)
}

/** The same, following another one. */
export async function startFollower(folder: string, hub: string): Promise<RunningDaemon> {
  return startOver(folder, [`mcp: ${hub}`, 'approval: none'], 'warn')
}

async function startOver(folder: string, source: readonly string[], logged: string): Promise<RunningDaemon> {
  const { file, config } = await writeSettings(folder, { bench: source })
  const program = fileURLToPath(new URL('../dist/daemon/main.js', import.meta.url))
  const args = [program, 'start', '--config', file, '--log-level', logged]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    url: String(url),
    async sync() {
      await syncBy(config)
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

/** Writes a configuration of sources, by their ids, and of lines of the top level. No schedule comes due. */
export async function writeSettings(
  folder: string,
  sources: Readonly<Record<string, readonly string[]>>,
  rest: readonly string[] = [],
): Promise<{ readonly file: string; readonly config: Config }> {
  const entries = Object.entries(sources).map(
    ([id, lines]) => `  - { ${[`id: ${id}`, ...lines, 'every: 365d'].join(', ')} }`,
  )
  const lines = ['sources:', ...entries, `state: ${folder}/state`, 'serve: { http: { port: 0 } }', ...rest]
  const file = join(folder, 'skillsyncd.yaml')
  await writeFile(file, lines.map((line) => `${line}\n`).join(''))
  return { file, config: await readConfig({ file }) }
}

/** Has the daemon of a configuration pull now, all sources or these. Says how that ended, for each. */
export async function syncBy(config: Config, sources?: readonly string[]): Promise<readonly SyncEnd[]> {
  const ends: SyncEnd[] = []
  const onEvent = (event: unknown): void => void ends.push(SYNC_END.parse(event))
  const { signal } = new AbortController()
  const params = sources === undefined ? {} : { sources }
  const answer = await request(config, 'sync', params, { onEvent, signal, timeoutMs: SILENCE_MS })
  if (answer === undefined) throw new Error('The daemon does not run any more')
  return ends
}

/** A first sync of many sources on a busy machine is long in coming. */
const SILENCE_MS = 600_000
