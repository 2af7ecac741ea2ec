import { connect, type Socket } from 'node:net'
import { codeOf } from '../../base/error-code.ts'
import { isObject } from '../../base/json-object.ts'
import { remedyIn } from '../../sync/model/sync-error.ts'
import { OperatorError, operatorErrorCodeOf } from '../runtime/operator-error.ts'
import { LINE_BYTES, parseLine, readLines } from './control-lines.ts'

/** The result of a request to the daemon. Kind `no-daemon`: no daemon listens. */
export type ControlAnswer = { readonly kind: 'answered'; readonly result: unknown } | { readonly kind: 'no-daemon' }

export interface Ask {
  readonly onEvent: (event: unknown) => void
  readonly signal: AbortSignal
  /** The longest silence of the daemon. A stopped daemon accepts the request and never answers. */
  readonly timeoutMs: number
}

/**
 * Sends a request to the daemon that listens on the socket. Rejects with an `OperatorError`, or with the signal's reason.
 */
export async function askDaemon(socketPath: string, method: string, params: unknown, ask: Ask): Promise<ControlAnswer> {
  ask.signal.throwIfAborted()
  const request = `${JSON.stringify({ method, params })}\n`
  if (Buffer.byteLength(request) > LINE_BYTES) throw tooLong('request')
  const socket = connect(socketPath)
  const abort = (): void => void socket.destroy(ask.signal.reason)
  ask.signal.addEventListener('abort', abort)
  try {
    return await answerOf(socket, request, ask)
  } finally {
    ask.signal.removeEventListener('abort', abort)
    socket.destroy()
  }
}

/** True if a process listens on the socket, even a stopped or busy one. */
export async function answers(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath)
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      // A full connection queue proves that a process listens.
      socket.once('error', (error) => resolve(codeOf(error) === 'EAGAIN'))
    })
  } finally {
    socket.destroy()
  }
}

function answerOf(socket: Socket, request: string, { onEvent, signal, timeoutMs }: Ask): Promise<ControlAnswer> {
  return new Promise((resolve, reject) => {
    const silent = new OperatorError('timed-out', `The daemon has not answered for ${timeoutMs / 1000} s`)
    socket.setTimeout(timeoutMs, () => socket.destroy(silent))
    socket.once('connect', () => socket.write(request))
    socket.on('error', (error) => {
      if (signal.aborted || error instanceof OperatorError) reject(error)
      else if (isNobody(error)) resolve({ kind: 'no-daemon' })
      else reject(new OperatorError('connection-lost', `Cannot contact the daemon: ${error.message}`, { cause: error }))
    })
    socket.once('close', () =>
      reject(new OperatorError('connection-lost', 'The daemon closed the connection without an answer')),
    )
    const onLine = (line: string): void => {
      try {
        const answer = readReply(line, onEvent)
        if (answer !== undefined) resolve(answer)
      } catch (error) {
        reject(error)
      }
    }
    readLines(socket, onLine, () => reject(tooLong('answer')))
  })
}

/** The answer in a line; `undefined` if the line is an event. */
function readReply(line: string, onEvent: (event: unknown) => void): ControlAnswer | undefined {
  const { event, result, error } = parseLine(line) ?? {}
  if (result !== undefined) return { kind: 'answered', result }
  if (error !== undefined) throw toldError(error)
  if (event === undefined)
    throw new OperatorError('bad-answer', 'The answer of the daemon is not an event, a result or an error')
  onEvent(event)
  return undefined
}

function toldError(error: unknown): OperatorError {
  const { code, message, ...remedy } = isObject(error) ? error : {}
  const known = operatorErrorCodeOf(String(code))
  // The daemon may be of a newer version: its code still tells the operator more than ours.
  const said = known === code ? String(message) : `${String(message)} (${String(code)})`
  return new OperatorError(known, said, remedyIn(remedy))
}

/** The connection fails this way if the socket is gone, or was left by a process that has ended. */
function isNobody(error: Error): boolean {
  const code = codeOf(error)
  return code === 'ENOENT' || code === 'ECONNREFUSED'
}

function tooLong(what: string): OperatorError {
  return new OperatorError('limit-exceeded', `The ${what} is over ${LINE_BYTES} bytes`)
}
