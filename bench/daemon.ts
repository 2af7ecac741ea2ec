import './run-the-build.ts'
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Config } from '../src/daemon/config/config.ts'
import type { SyncEnd } from '../src/daemon/status/pull-result.ts'
import { overseen } from './child.ts'
import type { Child } from './child.ts'

const { readConfig } = await import('../src/daemon/configuration.ts')
const { disableRequest } = await import('../src/daemon/commands/change/disable-request.ts')
const { askRunning } = await import('../src/daemon/control/running-daemon.ts')
const { syncRequest } = await import('../src/daemon/control/sync-request.ts')
const { recallRequest } = await import('../src/features/channel/recall/recall-requests.ts')

export interface RunningDaemon extends AsyncDisposable {
  /** Where it serves MCP. */
  readonly url: string
  /** What a webhook would do: the daemon pulls now, all or these. Resolves when it is done. */
  sync(sources?: readonly string[]): Promise<void>
}

/** The real program, over a configuration that lets nothing but a trigger cause a pull after its first. */
export async function startDaemon(
  folder: string,
  upstream: string,
  logged: 'warn' | 'error' = 'warn',
): Promise<RunningDaemon> {
  return startOver(folder, { bench: [`url: ${upstream}`] }, logged)
}

/** The same, following another one. */
export async function startFollower(folder: string, hub: string): Promise<RunningDaemon> {
  return startOver(folder, { bench: [`mcp: ${hub}`, 'approval: none'] }, 'warn')
}

/** The same, with sources by their ids. */
export async function startOver(
  folder: string,
  sources: Readonly<Record<string, readonly string[]>>,
  logged: string,
  rest: readonly string[] = [],
): Promise<RunningDaemon> {
  const { file, config } = await writeSettings(folder, sources, [...ROOM, ...rest])
  const program = fileURLToPath(new URL('../dist/program/main.js', import.meta.url))
  const child = spawn(process.execPath, [program, ...startArgs(file, logged)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    url: String(url),
    sync: (sources) => synced(config, sources),
    [Symbol.asyncDispose]: () => ended(child),
  }
}

/** The same, in a process that tells what its memory holds. */
export async function startSeen(
  folder: string,
  upstream: string,
  { source = [], ...options }: SeenOptions & { readonly source?: readonly string[] } = {},
): Promise<SeenDaemon> {
  return startSeenOver(folder, { bench: [`url: ${upstream}`, ...source] }, options)
}

/** The same, with sources by their ids. */
export async function startSeenOver(
  folder: string,
  sources: Readonly<Record<string, readonly string[]>>,
  { serve, rest = ROOM }: SeenOptions = {},
): Promise<SeenDaemon> {
  const { file, config } = await writeSettings(folder, sources, rest, serve)
  const program = fileURLToPath(new URL('./program-process.ts', import.meta.url))
  const forked = fork(program, startArgs(file, 'error'), {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  if (forked.stdout === null) throw new TypeError('What the program prints cannot be read')
  const listening = once(createInterface({ input: forked.stdout }), 'line')
  await once(forked, 'message')
  const [url] = await listening
  return {
    url: String(url),
    child: overseen(forked),
    sync: (sources) => synced(config, sources),
    disable: async (path, disabled) => {
      const asked = { source: 'bench', path, disabled }
      await askRunning(config, disableRequest, asked, { signal: new AbortController().signal })
    },
    recall: async (path) => {
      const asked = { source: 'bench', path, reason: 'a measurement' }
      await askRunning(config, recallRequest, asked, { signal: new AbortController().signal })
    },
    kill: async () => ended(forked, 'SIGKILL'),
    [Symbol.asyncDispose]: () => ended(forked),
  }
}

/** A daemon in a process that answers questions about itself. */
export interface SeenDaemon extends RunningDaemon {
  readonly child: Child
  /** Takes a skill of its source out of service, or back. */
  disable(path: string, disabled: boolean): Promise<void>
  /** Recalls a skill of its source. */
  recall(path: string): Promise<void>
  /** Ends it without notice. */
  kill(): Promise<void>
}

/** Lines of `serve` besides the address, and of the top level. */
interface SeenOptions {
  readonly serve?: readonly string[]
  readonly rest?: readonly string[]
}

async function synced(config: Config, sources: readonly string[] | undefined): Promise<void> {
  for (const end of await syncBy(config, sources)) {
    if (end.outcome !== 'updated' && end.outcome !== 'unchanged') throw new Error(`It ended so: ${JSON.stringify(end)}`)
  }
}

function startArgs(file: string, logged: string): string[] {
  return ['start', '--config', file, '--log-level', logged]
}

async function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

/** A repository of 10,000 skills has a few entries more than are let in where nobody sets anything. */
const ROOM = ['limits: { repository: { files: 1000000 }, disk: { bytes: 64GiB } }']

/** Writes a configuration of sources, by their ids, and of lines of the top level. No schedule comes due. */
export async function writeSettings(
  folder: string,
  sources: Readonly<Record<string, readonly string[]>>,
  rest: readonly string[] = [],
  serve: readonly string[] = [],
): Promise<{ readonly file: string; readonly config: Config }> {
  const entries = Object.entries(sources).map(
    ([id, lines]) => `  - { ${[`id: ${id}`, ...lines, 'every: 365d'].join(', ')} }`,
  )
  const lines = [
    'sources:',
    ...entries,
    `state: ${folder}/state`,
    `serve: { ${['http: { port: 0 }', ...serve].join(', ')} }`,
    ...rest,
  ]
  const file = join(folder, 'skillsyncd.yaml')
  await writeFile(file, lines.map((line) => `${line}\n`).join(''))
  return { file, config: await readConfig({ file }) }
}

/** Has the daemon of a configuration pull now, all sources or these. Says how that ended, for each. */
export async function syncBy(config: Config, sources?: readonly string[]): Promise<readonly SyncEnd[]> {
  const ends: SyncEnd[] = []
  const { signal } = new AbortController()
  const params = sources === undefined ? {} : { sources }
  const answer = await askRunning(config, syncRequest, params, {
    onEvent(event) {
      if (!('fetching' in event)) ends.push(event)
    },
    signal,
    timeoutMs: SILENCE_MS,
  })
  if (answer === undefined) throw new Error('The daemon does not run any more')
  return ends
}

/** A first sync of many sources on a busy machine is long in coming. */
const SILENCE_MS = 600_000
