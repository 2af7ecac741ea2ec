import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { LogLine, Timeline } from './timeline.ts'

/** The program, as the build makes it. */
export const PROGRAM = fileURLToPath(new URL('../../dist/program/main.js', import.meta.url))

/** The real daemon as a process of its own. What it logs goes onto the timeline. */
export class DaemonProcess implements AsyncDisposable {
  /** Where MCP is. */
  readonly url: string
  readonly #child: Child

  private constructor(url: string, child: Child) {
    this.url = url
    this.#child = child
  }

  /** Resolves once it listens. */
  static async start(configFile: string, timeline: Timeline, signal: AbortSignal): Promise<DaemonProcess> {
    const args = [PROGRAM, 'start', '--config', configFile, '--log-level', 'debug']
    // In a process group of its own: Ctrl-C is for us, and we tell the daemon once.
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const said: string[] = []
    createInterface({ input: child.stderr }).on('line', (text) => {
      said.push(text)
      const line = logLineOf(text)
      if (line !== undefined) timeline.push({ kind: 'logged', line })
    })
    child.once('close', (code) => {
      timeline.end(new Error([`The daemon ended with ${code}; the last it said:`, ...said.slice(-5)].join('\n  ')))
    })
    try {
      return new DaemonProcess(await firstLine(child, said, signal), child)
    } catch (error) {
      await stop(child)
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#child)
  }
}

/** Writes a configuration with one source, which is looked at every second. Returns its path. */
export async function writeConfig(folder: string, repository: string): Promise<string> {
  const file = join(folder, 'skillsyncd.yaml')
  // A JSON string is a YAML string too, whatever the path holds.
  const lines = [
    'sources:',
    '  - id: examples',
    `    url: ${JSON.stringify(pathToFileURL(repository).href)}`,
    '    every: 1s',
    'serve:',
    '  http: { host: 127.0.0.1, port: 0 }',
    `state: ${JSON.stringify(join(folder, 'state'))}`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  return file
}

type Child = ChildProcessByStdio<null, Readable, Readable>

/** The daemon's address is the first line on its stdout. */
async function firstLine(child: Child, said: readonly string[], signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: child.stdout })
  const ended = new AbortController()
  child.once('close', () => ended.abort())
  try {
    const [url] = await once(lines, 'line', { signal: AbortSignal.any([signal, ended.signal]) })
    return String(url)
  } catch (error) {
    if (!ended.signal.aborted) throw error
    throw new Error(['The daemon did not start; it said:', ...said.slice(-5)].join('\n  '), { cause: error })
  }
}

async function stop(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}

function logLineOf(text: string): LogLine | undefined {
  try {
    const line: unknown = JSON.parse(text)
    return isLogLine(line) ? line : undefined
  } catch {
    // What a dying process prints is no JSON; it is kept for the message.
    return undefined
  }
}

function isLogLine(value: unknown): value is LogLine {
  return typeof value === 'object' && value !== null && 'event' in value && typeof value.event === 'string'
}
