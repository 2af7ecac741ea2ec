import './run-the-build.ts'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const { readConfig } = await import('../src/daemon/config.ts')
const { request } = await import('../src/daemon/requests.ts')

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
  const file = join(folder, 'skillsyncd.yaml')
  const entry = ['id: bench', ...source, 'every: 1d'].join(', ')
  const lines = [`sources: [{ ${entry} }]`, `state: ${folder}/state`]
  await writeFile(file, `${[...lines, 'serve: { http: { port: 0 } }'].join('\n')}\n`)
  const program = fileURLToPath(new URL('../dist/daemon/main.js', import.meta.url))
  const args = [program, 'start', '--config', file, '--log-level', logged]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    url: String(url),
    async sync() {
      const { signal } = new AbortController()
      await request(await readConfig({ file }), 'sync', {}, { signal, timeoutMs: 60_000 })
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}
