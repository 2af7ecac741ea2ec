import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { Readable } from 'node:stream'
import { SyncError } from '../../../model/sync-error.ts'
import { RunMark } from './process-strays.ts'

/** A program to start: nothing of this process's environment reaches it. */
export interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** No file that it writes grows beyond this, and its memory is bounded too; undefined for one that the operator chose. */
  readonly fileBytes: number | undefined
  /** Is told what it writes to descriptor 3, which is open to it for that. */
  readonly onTrace?: (part: string) => void
}

/** How a program ended. What it said is bounded: the beginning and the end of it. */
export interface Ended {
  readonly status: number | undefined
  readonly stderr: string
}

/** Bounds on one run, enforced from outside: the programs we run wait for ever by themselves. */
export interface Bounds {
  /** Until the first byte of output. */
  readonly firstMs: number
  /** Between bytes. */
  readonly idleMs: number
  /** Of what is kept of its output. */
  readonly outputBytes: number
}

/**
 * A running program and all that it starts, as one process group. Disposing it leaves none of them: asked to end first,
 * killed soon after. What leaves the group is killed with a program that the operator did not choose: one of theirs may leave
 * an agent on purpose.
 */
export class ChildGroup implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  readonly #said: Said
  readonly #trace: Readable | undefined
  readonly #mark: RunMark | undefined
  /** Resolves when nothing is left of what left the group. */
  #strays: Promise<void> | undefined
  #isGone = false

  constructor(start: Start) {
    const { command, cwd } = start
    this.#mark = start.fileBytes === undefined ? undefined : new RunMark()
    const env = { ...start.env, ...this.#mark?.env }
    const [program, args] = start.fileBytes === undefined ? [command, start.args] : limited(start, start.fileBytes)
    const stdio: 'pipe' | 'pipe'[] = start.onTrace === undefined ? 'pipe' : ['pipe', 'pipe', 'pipe', 'pipe']
    const child = spawn(program, args, { cwd, env, detached: true, stdio })
    if (child.pid === undefined || !isPiped(child)) {
      child.once('error', () => {})
      const why =
        program === command ? 'there is no such program, or it cannot be run' : 'the system starts no process now'
      throw new SyncError('source-unreachable', `Cannot start "${command}": ${why}`)
    }
    this.child = child
    this.#said = new Said(child)
    this.#trace = traceOf(child, start)
    // The first of the group can end before the others. Later its number may be that of somebody else's group.
    this.child.once('exit', () => {
      this.#kill('SIGKILL')
      this.#isGone = true
      if (this.child.pid !== undefined) this.#strays = this.#mark?.killAll(this.child.pid)
    })
    // A program that ends before it has read its input tells why on stderr; the broken pipe is not the reason.
    this.child.stdin.on('error', () => {})
    this.ended = this.#end()
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

  /** Reads nothing more. What has left the group can hold its pipes open for as long as it likes, and `ended` waits for them. */
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
      // All of them have ended.
    }
  }
}

/**
 * Runs a program to its end and returns what it printed. Too long a silence is `source-unreachable`, too much output
 * `limit-exceeded`; however this ends, nothing of the program is left.
 */
export async function runToEnd(
  start: Start,
  input: string,
  bounds: Bounds,
  what: string,
  signal: AbortSignal,
): Promise<Ended & { readonly stdout: Buffer }> {
  signal.throwIfAborted()
  // Before anything listens to the signal: where no program starts, nothing would wait for what an abort then rejects.
  await using group = new ChildGroup(start)
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

/** Node cannot lower the limits of a process that it starts, and a shell can. */
function limited({ command, args }: Start, fileBytes: number): readonly [string, readonly string[]] {
  return ['/bin/sh', ['-c', LIMITED, 'sh', String(Math.ceil(fileBytes / BLOCK_BYTES)), command, ...args]]
}

const BLOCK_BYTES = 512

/** No core files, files and memory bounded. What the system does not let us bound stays as it is. */
const LIMITED = [
  'ulimit -c 0',
  'ulimit -f "$1" 2>/dev/null',
  'ulimit -v 4194304 2>/dev/null',
  'shift',
  'exec "$@"',
].join('; ')

/** How long a program has to end by itself once it is asked to. */
const GRACE_MS = 500

/** The beginning and the end of what a program complains about. Progress goes by in the middle. */
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

  constructor({ firstMs, idleMs }: Bounds, over: (ms: number) => void) {
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
