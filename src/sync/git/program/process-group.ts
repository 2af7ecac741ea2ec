import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { SyncError } from '../../model/sync-error.ts'

/** A program to start. It inherits nothing of this process's environment. */
export interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /**
   * Limits the size of each file that it writes, and its memory too; `undefined` for a program that the operator chose.
   */
  readonly fileBytes: number | undefined
  /** Receives what the program writes to descriptor 3, which is opened for it. */
  readonly onTrace?: (part: string) => void
}

/** The end of a program. `stderr` is bounded: only its start and end. */
export interface Ended {
  readonly status: number | undefined
  readonly stderr: string
}

/** Limits of one run, enforced by this process: the programs themselves wait forever. */
export interface ProcessBounds {
  /** Timeout until the first output. */
  readonly firstMs: number
  /** Timeout between two outputs. */
  readonly idleMs: number
  /** Maximum bytes of output. */
  readonly outputBytes: number
}

/**
 * A running program and its children, as one process group. Disposal leaves none of them: SIGTERM first, SIGKILL soon
 * after. Children that left the group are killed too, except for a program that the operator chose, because it may
 * leave an agent behind on purpose.
 */
export class ProcessGroup implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  readonly #said: Said
  readonly #trace: Readable | undefined
  readonly #mark: ChildProcessTag | undefined
  /** Resolves after all children outside the group have ended. */
  #strays: Promise<void> | undefined
  #isGone = false

  constructor(start: Start) {
    const { command, cwd } = start
    this.#mark = start.fileBytes === undefined ? undefined : new ChildProcessTag()
    const env = { ...start.env, ...this.#mark?.env }
    const [program, args] = start.fileBytes === undefined ? [command, start.args] : limitCommand(start, start.fileBytes)
    const stdio: 'pipe' | 'pipe'[] = start.onTrace === undefined ? 'pipe' : ['pipe', 'pipe', 'pipe', 'pipe']
    const child = spawn(program, args, { cwd, env, detached: true, stdio })
    if (child.pid === undefined || !isPiped(child)) {
      child.once('error', () => {})
      const why =
        program === command ? 'there is no such program, or it cannot be run' : 'the system cannot start a process now'
      const fix = program === command ? NO_PROGRAM : 'End some of the processes of this user, or raise their limit'
      throw new SyncError('source-unreachable', `Cannot start "${command}": ${why}`, { fix })
    }
    this.child = child
    this.#said = new Said(child)
    this.#trace = traceOf(child, start)
    // The leader can end before the other members, so the group is killed now. Later its id may belong to another
    // group.
    this.child.once('exit', () => {
      this.#kill('SIGKILL')
      this.#isGone = true
      if (this.child.pid !== undefined) this.#strays = this.#mark?.killAll(this.child.pid)
    })
    // A program that ends before it has read its input reports why on stderr; the broken pipe is not the reason.
    this.child.stdin.on('error', () => {})
    this.ended = this.#end()
  }

  /** Its standard error until now, as in `Ended`. */
  get stderr(): string {
    return this.#said.text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill('SIGTERM')
    const killing = setTimeout(() => this.#kill('SIGKILL'), GRACE_MS)
    const leaving = setTimeout(() => this.letGo(), 2 * GRACE_MS)
    try {
      this.child.stdout.unpipe().resume()
      await this.ended.catch(() => {})
      await this.#strays
    } finally {
      clearTimeout(killing)
      clearTimeout(leaving)
    }
  }

  /** Stops reading. A process outside the group can keep the pipes open indefinitely, and `ended` waits for them. */
  letGo(): void {
    this.child.stdout.destroy()
    this.child.stderr.destroy()
    this.#trace?.destroy()
  }

  async #end(): Promise<Ended> {
    const { promise, resolve, reject } = Promise.withResolvers<number | null>()
    this.child.once('error', reject).once('close', resolve)
    const status = await promise
    return { status: status ?? undefined, stderr: this.#said.text }
  }

  #kill(signal: NodeJS.Signals): void {
    if (this.child.pid === undefined || this.#isGone) return
    try {
      process.kill(-this.child.pid, signal)
    } catch {
      // All processes have ended already.
    }
  }
}

/** The attempt of a program, for messages, with its input and limits. */
export interface BoundedRun {
  readonly what: string
  readonly input: string
  readonly bounds: ProcessBounds
}

/**
 * Runs a program to its end and returns its output. Silence beyond the timeout is `source-unreachable`, too much output
 * is `limit-exceeded`. In every case no process of the program remains.
 */
export async function runToEnd(
  start: Start,
  { what, input, bounds }: BoundedRun,
  signal: AbortSignal,
): Promise<Ended & { readonly stdout: Buffer }> {
  signal.throwIfAborted()
  // Started before the abort listener: if the start failed, the rejection of a later abort would be unhandled.
  await using group = new ProcessGroup(start)
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>()
  const abort = () => stop(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  using silence = new Silence(bounds, (ms) => {
    stop(new SyncError('source-unreachable', `${what}: nothing came within ${ms} ms`))
  })
  const parts: Buffer[] = []
  let size = 0
  group.child.stdout.on('data', (part: Buffer) => {
    silence.broken()
    size += part.length
    if (size <= bounds.outputBytes) parts.push(part)
    else stop(new SyncError('limit-exceeded', `${what}: the answer is over ${bounds.outputBytes} bytes`))
  })
  group.child.stderr.on('data', () => silence.broken())
  group.child.stdin.end(input)
  try {
    const ended = await Promise.race([group.ended, stopped])
    return { ...ended, stdout: Buffer.concat(parts) }
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function isPiped(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return child.stdin !== null && child.stdout !== null && child.stderr !== null
}

function traceOf({ stdio }: ChildProcess, { onTrace }: Start): Readable | undefined {
  const trace = stdio[3]
  if (onTrace === undefined || !(trace instanceof Readable)) return undefined
  return trace.setEncoding('latin1').on('data', onTrace)
}

/** Wraps the command in a shell, because Node cannot lower the limits of a child process. */
function limitCommand({ command, args }: Start, fileBytes: number): readonly [string, readonly string[]] {
  return ['/bin/sh', ['-c', LIMITED, 'sh', String(Math.ceil(fileBytes / BLOCK_BYTES)), command, ...args]]
}

const BLOCK_BYTES = 512

/** Disables core files, and limits files and memory. Limits that the system does not support are ignored. */
const LIMITED = [
  'ulimit -c 0',
  'ulimit -f "$1" 2>/dev/null',
  'ulimit -v 4194304 2>/dev/null',
  'shift',
  'exec "$@"',
].join('; ')

/** The time for a program to end after SIGTERM. */
const GRACE_MS = 500

/** Collects the start and the end of stderr; the middle is progress output. */
class Said {
  #start = ''
  #end = ''

  constructor(child: ChildProcessWithoutNullStreams) {
    child.stderr.setEncoding('latin1')
    child.stderr.on('data', (part: string) => {
      const room = SAID_BYTES - this.#start.length
      this.#start += part.slice(0, room)
      this.#end = (this.#end + part.slice(room)).slice(-SAID_BYTES)
    })
  }

  get text(): string {
    return Buffer.from(this.#start + this.#end, 'latin1').toString('utf8')
  }
}

const SAID_BYTES = 16_384

class Silence implements Disposable {
  readonly #timer: NodeJS.Timeout
  readonly #idleMs: number
  #idle: NodeJS.Timeout | undefined
  readonly #over: (ms: number) => void

  constructor({ firstMs, idleMs }: ProcessBounds, over: (ms: number) => void) {
    this.#over = over
    this.#idleMs = idleMs
    this.#timer = setTimeout(() => over(firstMs), firstMs)
  }

  broken(): void {
    clearTimeout(this.#timer)
    this.#idle ??= setTimeout(() => this.#over(this.#idleMs), this.#idleMs)
    this.#idle.refresh()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#idle)
  }
}

/** The next step for a program that cannot be started. */
export const NO_PROGRAM =
  'Install that program in a folder of PATH; if the configuration names it, correct the name there'

/**
 * A marker in a program's environment that identifies all its descendants on Linux. A process that calls `setsid`
 * leaves the group, but keeps its environment. A process that clears its environment, or runs as another user, is not
 * found.
 */
class ChildProcessTag {
  readonly #id = randomUUID()

  get env(): Readonly<Record<string, string>> {
    return { [NAME]: this.#id }
  }

  /** Kills all processes with the marker that started after the leader, and their new children. */
  async killAll(leader: number): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const found = await this.#pids(leader)
      if (found.length === 0) return
      for (const pid of found) kill(pid)
      // A killed process takes a moment to end, and holds its files until then.
      await pause(2 ** round)
    }
  }

  async #pids(leader: number): Promise<readonly number[]> {
    const pids = await startedAfter(leader)
    const found: number[] = []
    while (pids.length > 0) {
      const some = pids.splice(0, READ_AT_ONCE)
      const marked = await Promise.all(some.map(async (pid) => this.#isOn(pid)))
      found.push(...some.filter((_, index) => marked[index]))
    }
    return found
  }

  /** Returns false for a process of another user, whose environment is unreadable, and for one that has just ended. */
  async #isOn(pid: number): Promise<boolean> {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
    return environment.split('\0').includes(`${NAME}=${this.#id}`)
  }
}

/**
 * Returns the processes that started after the leader. Process ids increase, and wrap around at the maximum. Only Linux
 * has this list.
 */
async function startedAfter(leader: number): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const [newest = ''] = /\d+$/.exec((await readFile('/proc/loadavg', 'latin1').catch(() => '')).trimEnd()) ?? []
  const isLater = (pid: number): boolean =>
    Number(newest) > leader ? pid > leader && pid <= Number(newest) : pid > leader || pid <= Number(newest)
  return names.map(Number).filter((pid) => pid > 1 && (newest === '' || isLater(pid)))
}

const NAME = 'SKILLSYNCD_RUN'
/** About one second in total. A process that forks faster than it is found, or does not end, stays. */
const MOST_ROUNDS = 10
/** Limits the open descriptors, even on machines with thousands of processes. */
const READ_AT_ONCE = 16

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended already.
  }
}
