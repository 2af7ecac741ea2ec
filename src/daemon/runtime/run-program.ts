import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { codeOf } from '../../base/error-code.ts'

/** A program to run: never through a shell, with only this environment. */
export interface ProgramCall {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The text for its standard input. */
  readonly input: string
}

export interface ProgramBounds {
  readonly timeoutMs: number
  /** The limit of its standard output. */
  readonly outputBytes: number
  readonly signal: AbortSignal
}

export interface ProgramEnd {
  /** `null` if a signal ended the program. */
  readonly status: number | null
  readonly stdout: Uint8Array
}

/** A program that could not run to its end within its bounds. The message gives the reason and contains no names. */
export class ProgramFailedError extends Error {
  override readonly name = 'ProgramFailure'
}

/**
 * Runs a program to its end. Its standard error is not read: it can contain anything. When this settles, no process of
 * its group is left.
 */
export async function runProgram(call: ProgramCall, bounds: ProgramBounds): Promise<ProgramEnd> {
  bounds.signal.throwIfAborted()
  const { command, args, env, input } = call
  // The program gets its own process group, so that its children can be ended with it.
  const child = startProgram(command, args, env)
  // A program may ignore its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return endOf(child, bounds)
}

/** Node throws most system faults, such as lack of memory, synchronously; the others arrive as an event. */
function startProgram(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Child {
  try {
    return spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  } catch (cause) {
    throw new ProgramFailedError(`it cannot be started (${codeOf(cause) ?? 'no reason given'})`, { cause })
  }
}

type Child = ChildProcessByStdio<Writable, Readable, null>

async function endOf(child: Child, { timeoutMs, outputBytes, signal }: ProgramBounds): Promise<ProgramEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>()
  const parts: Buffer[] = []
  let left = outputBytes
  const fail = (why: string): void => reject(new ProgramFailedError(why))
  const abort = (): void => reject(signal.reason)
  const timer = setTimeout(fail, timeoutMs, `it is not done after ${timeoutMs} ms`)
  signal.addEventListener('abort', abort, { once: true })
  child.stdout.on('data', (part: Buffer) => {
    left -= part.length
    if (left < 0) return fail(`it prints more than ${outputBytes} bytes`)
    parts.push(part)
  })
  child.once('error', (error) => fail(`it cannot be started (${codeOf(error) ?? 'no reason given'})`))
  // Children that it left behind may keep its output open.
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
    // No process of the group is left, or (on macOS) only processes that have ended.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}
