import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { codeOf } from '../../base/error-code.ts'

/** A program to run: never through a shell, with this environment and nothing of ours. */
export interface ProgramCall {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** What it reads on its standard input. */
  readonly input: string
}

export interface ProgramBounds {
  readonly timeoutMs: number
  /** Of its standard output. */
  readonly outputBytes: number
  readonly signal: AbortSignal
}

export interface ProgramEnd {
  /** Null for one that was ended by a signal. */
  readonly status: number | null
  readonly stdout: Uint8Array
}

/** A program that could not be run to its end within its bounds. The message says why, and names nothing. */
export class ProgramFailure extends Error {
  override readonly name = 'ProgramFailure'
}

/**
 * Runs a program to its end. What it says on its standard error is not read: it can hold anything. When this is over,
 * nothing of its process group is left, however it ended.
 */
export async function runProgram(call: ProgramCall, bounds: ProgramBounds): Promise<ProgramEnd> {
  bounds.signal.throwIfAborted()
  const { command, args, env, input } = call
  // A group of its own, so that what it starts itself can be ended with it.
  const child = started(command, args, env)
  // One that does not care for its input is fine.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return endOf(child, bounds)
}

/** Node throws at once what the system says of most faults, such as a want of memory; the others come as an event. */
function started(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Child {
  try {
    return spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  } catch (cause) {
    throw new ProgramFailure(`it cannot be started (${codeOf(cause) ?? 'no reason given'})`, { cause })
  }
}

type Child = ChildProcessByStdio<Writable, Readable, null>

async function endOf(child: Child, { timeoutMs, outputBytes, signal }: ProgramBounds): Promise<ProgramEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>()
  const parts: Buffer[] = []
  let left = outputBytes
  const fail = (why: string): void => reject(new ProgramFailure(why))
  const abort = (): void => reject(signal.reason)
  const timer = setTimeout(fail, timeoutMs, `it is not done after ${timeoutMs} ms`)
  signal.addEventListener('abort', abort, { once: true })
  child.stdout.on('data', (part: Buffer) => {
    left -= part.length
    if (left < 0) return fail(`it says more than ${outputBytes} bytes`)
    parts.push(part)
  })
  child.once('error', (error) => fail(`it cannot be started (${codeOf(error) ?? 'no reason given'})`))
  // What it left behind may hold its output open.
  child.once('exit', () => endGroup(child))
  child.once('close', (status) => resolve({ status, stdout: Buffer.concat(parts) }))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    endGroup(child)
    child.stdout.destroy()
  }
}

function endGroup({ pid }: Child): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // Nobody of it is left, or (on macOS) nobody but those that have ended.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}
