import { spawn } from 'node:child_process'
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { codeOf } from '../../base/error-code.ts'
import { programVariables } from '../../daemon/access/program-variables.ts'
import type { GateProgram } from './gate-config.ts'
import type { Gate, GateVerdict } from './gate.ts'
import { GateUnansweredError } from './unanswered.ts'

/**
 * Runs the program with the document on its standard input. Its exit status is the answer: 0 publish, 3 hold, any other
 * refuse.
 */
export async function askProgram(
  document: Uint8Array,
  program: GateProgram,
  gate: Gate,
  signal: AbortSignal,
): Promise<GateVerdict> {
  const { status, stdout, stderr } = await runGateProgram(program, document, REASON_BYTES, gate, signal)
  return verdictOf(status, [stdout, stderr])
}

/** The end of a program, with the beginning of its output. */
interface ProgramEnd {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program with this input. Its process group is killed when it has ended or the signal aborts. Throws
 * `GateUnansweredError` if it cannot be started, or is ended by a signal. `mostBytes`: of its standard output that are kept.
 */
export async function runGateProgram(
  program: Omit<GateProgram, 'kind'>,
  input: string | Uint8Array,
  mostBytes: number,
  gate: Gate,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const env = await programVariables(program.env, gate.environment, gate.redactor)
  signal.throwIfAborted()
  const child = startGate(program, env)
  if (gate.isBackground === true) lowerPriority(child)
  const abort = () => killGroup(child)
  signal.addEventListener('abort', abort)
  try {
    // A program that decides before it has read everything breaks the pipe.
    child.stdin.on('error', () => {}).end(input)
    const [stdout, stderr] = [new Start(child.stdout, mostBytes), new Start(child.stderr, REASON_BYTES)]
    const end = await endOf(child)
    // Kills the processes that it left behind, which also closes its output.
    killGroup(child)
    signal.throwIfAborted()
    if (end.status === null) throw new GateUnansweredError(`it was ended by ${end.by}`)
    await Promise.all([stdout.whole(signal), stderr.whole(signal)])
    return { status: end.status, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    signal.removeEventListener('abort', abort)
    // A process that left the group may keep the other ends open forever.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
  }
}

const HOLD = 3

function verdictOf(status: number, said: readonly string[]): GateVerdict {
  if (status === 0) return { kind: 'publish' }
  const reason = said.find((text) => text.trim() !== '') ?? `it ended with status ${status} and gave no reason`
  return { kind: status === HOLD ? 'hold' : 'refuse', reason }
}

/** Starts the program in its own process group, so that its children can be killed with it. */
function startGate(
  { command, args }: Pick<GateProgram, 'command' | 'args'>,
  env: Record<string, string>,
): ChildProcessWithoutNullStreams {
  try {
    return spawn(command, args, { env, cwd: '/', detached: true, stdio: 'pipe' })
  } catch (cause) {
    throw startFailure(cause)
  }
}

/** The programs that it starts inherit the priority. A system that refuses it runs them with the usual one. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch (error) {
    if (codeOf(error) !== 'ERR_SYSTEM_ERROR') throw error
  }
}

async function endOf(child: ChildProcess): Promise<{ readonly status: number | null; readonly by: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(startFailure(cause)))
    child.once('exit', (status, by) => resolve({ status, by }))
  })
}

function startFailure(cause: unknown): GateUnansweredError {
  return new GateUnansweredError(`it cannot be started: ${codeOf(cause) ?? String(cause)}`, { cause })
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // No process of the group is left. Some systems report EPERM for processes that have ended but are not yet reaped.
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

/** The first bytes of a stream. The rest is read and dropped, so that the writer never blocks. */
class Start {
  readonly #stream: Readable
  readonly #pieces: Buffer[] = []
  #room: number

  constructor(stream: Readable, mostBytes: number) {
    this.#stream = stream
    this.#room = mostBytes
    stream.on('data', (piece: Buffer) => {
      if (this.#room > 0) this.#pieces.push(piece.subarray(0, this.#room))
      this.#room -= piece.length
    })
    stream.on('error', () => {})
  }

  /** Resolves at the end of the stream. If a process that left its group keeps it open, the signal ends the wait. */
  async whole(signal: AbortSignal): Promise<void> {
    await finished(this.#stream, { signal, cleanup: true }).catch(() => {})
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString('utf8')
  }
}

const REASON_BYTES = 4_096
