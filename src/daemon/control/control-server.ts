import { chmod, lstat, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { isAbortError } from '../../base/async/abort-error.ts'
import { codeOf } from '../../base/error-code.ts'
import { mendOf, SyncError, unwrapSuppressed } from '../../sync/model/sync-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { whyNotUsed } from '../runtime/disk-error-text.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { answers } from './control-client.ts'
import { LINE_BYTES, parseLine, readLines } from './control-lines.ts'
import { isSocketThere, makeSocketFolder, removeSocketFolder } from './control-path.ts'

/**
 * Answers one method of the control socket. The signal is aborted when the client disconnects. An expected failure is a
 * `SyncError` or an `OperatorError` and is sent to the client; any other error ends the process.
 */
export type ControlHandler = (params: unknown, send: (event: unknown) => void, signal: AbortSignal) => Promise<unknown>

export type ControlHandlers = Readonly<Record<string, ControlHandler>>

/**
 * Listens on the daemon's socket, in a folder that belongs to the user alone. Replaces a socket without a listener;
 * refuses if another process listens on it. Only the holder of the daemon's lock must call this.
 */
export async function serveControl(socketPath: string, handlers: ControlHandlers): Promise<ControlServer> {
  const control = new ControlServer(socketPath, handlers)
  await control.listen()
  return control
}

export class ControlServer implements AsyncDisposable {
  #path: string
  readonly #server = createServer()
  readonly #handlers: ControlHandlers
  readonly #sockets = new Set<Socket>()

  constructor(path: string, handlers: ControlHandlers) {
    const server = this.#server
    this.#path = path
    this.#handlers = handlers
    server.maxConnections = MAX_CONNECTIONS
    server.on('connection', (socket) => this.#take(socket))
    // If a connection cannot be accepted for lack of descriptors, the client sees that.
    server.on('error', () => {})
  }

  get isListening(): boolean {
    return this.#server.listening
  }

  get path(): string {
    return this.#path
  }

  async listen(): Promise<void> {
    try {
      await makeSocketFolder(dirname(this.#path))
      await listen(this.#server, this.#path)
      await chmod(this.#path, 0o600)
    } catch (error) {
      this.#server.close()
      await removeSocketFolder(this.#path)
      throw listenError(this.#path, error)
    }
  }

  /**
   * Listens again, on the next path, if the socket is gone from its folder: runtime and temporary folders are swept.
   * True if it was gone.
   */
  async listenAgain(nextPath: () => string): Promise<boolean> {
    if (await this.#isThere()) return false
    // A client that waits for an answer stays connected.
    this.#server.close()
    await removeSocketFolder(this.#path)
    this.#path = nextPath()
    await this.listen()
    return true
  }

  async #isThere(): Promise<boolean> {
    return isSocketThere(this.#path).catch((error: unknown) => {
      throw listenError(this.#path, error)
    })
  }

  /** Stops listening and disconnects all clients that wait for an answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
    await removeSocketFolder(this.#path)
  }

  #take(socket: Socket): void {
    const gone = new AbortController()
    this.#sockets.add(socket)
    // An error of the connection matters only to the client, which is gone.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(socket)
      gone.abort()
    })
    socket.setTimeout(REQUEST_MS, () => socket.destroy())
    let asked = false
    const onLine = (line: string): void => {
      if (asked) return
      asked = true
      socket.setTimeout(0)
      // It rejects only with an error that is meant to end the process.
      void this.#answer(socket, line, gone.signal)
    }
    readLines(socket, onLine, () => fail(socket, tooLong('The request')))
  }

  async #answer(socket: Socket, line: string, signal: AbortSignal): Promise<void> {
    try {
      const { method, params } = requestOf(line)
      const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined
      if (handler === undefined) throw new OperatorError('unknown-method', `The daemon has no method "${method}"`)
      const result = await handler(params, (event) => send(socket, { event: event ?? null }), signal)
      send(socket, { result: result ?? null })
      socket.destroySoon()
    } catch (error) {
      const told = toldOf(error)
      fail(socket, told ?? new OperatorError('internal', 'The daemon failed in a way it did not expect'))
      if (told === undefined) throw error
    }
  }
}

const MAX_CONNECTIONS = 64

/** The timeout for a client to send its request. */
const REQUEST_MS = 10_000

/** The unread bytes after which a client that does not read is disconnected. */
const BACKLOG_BYTES = 4 * LINE_BYTES

function requestOf(line: string): { readonly method: string; readonly params: unknown } {
  const { method, params } = parseLine(line) ?? {}
  if (typeof method !== 'string')
    throw new OperatorError('bad-request', 'The request is not a JSON object with a "method"')
  return { method, params }
}

function send(socket: Socket, message: unknown): void {
  if (!socket.writable) return
  const line = `${JSON.stringify(message)}\n`
  if (Buffer.byteLength(line) > LINE_BYTES) throw tooLong('The answer')
  socket.write(line)
  if (socket.writableLength > BACKLOG_BYTES) socket.destroy()
}

function fail(socket: Socket, error: OperatorError | SyncError): void {
  const { code, message, place } = error
  const fix = error instanceof SyncError ? mendOf(error) : error.fix
  send(socket, { error: { code, message: message.slice(0, MESSAGE_CHARACTERS), fix, place } })
  socket.destroySoon()
}

/** A message can quote input from the socket, and has to fit into a line with it. */
const MESSAGE_CHARACTERS = 4_096

/** The error for the client; `undefined` for an unexpected one. */
function toldOf(thrown: unknown): OperatorError | SyncError | undefined {
  const error = unwrapSuppressed(thrown)
  if (error instanceof SyncError || error instanceof OperatorError) return error
  if (isAbortError(error)) return new OperatorError('stopped', error.message)
  return undefined
}

function tooLong(what: string): OperatorError {
  return new OperatorError('limit-exceeded', `${what} is over ${LINE_BYTES} bytes`)
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    await bind(server, path)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error
    if (await answers(path))
      throw new SyncError('socket-failed', `Cannot listen on "${path}": another process answers there`)
    if (!(await lstat(path)).isSocket()) throw error
    await rm(path)
    await bind(server, path)
  }
}

async function bind(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function listenError(path: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof SyncError) return cause
  const why = isDiskError(cause) && 'path' in cause ? `${whyNotUsed(cause)}: "${String(cause.path)}"` : cause.message
  return new SyncError('socket-failed', `Cannot listen on "${path}": ${why}`, { cause })
}
