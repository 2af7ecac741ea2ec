import { execFileSync, spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { gitEnvironment } from './repository.ts'

/** One request for the backend: the repository's folder, the rest of the path and the body as it came. */
export interface Call {
  readonly folder: string
  readonly path: string
  readonly query: string
  readonly request: IncomingMessage
  readonly body: Buffer
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** What `git http-backend`, run as a CGI program, answers. When the signal aborts, it is killed with all it started. */
export async function askBackend(call: Call, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted()
  const backend = startBackend(call)
  const kill = () => killGroup(backend)
  signal.addEventListener('abort', kill)
  try {
    return parseAnswer(await buffer(backend.stdout))
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

/** The same, sent on as it comes: an answer may be too large to be held, and a host does not wait for its end. */
export async function passAnswer(call: Call, response: ServerResponse): Promise<void> {
  const backend = startBackend(call)
  response.once('close', () => killGroup(backend))
  const { status, headers, body } = parseAnswer(await headOf(backend.stdout))
  response.writeHead(status, headers).write(body)
  await pipeline(backend.stdout, response)
}

/** What is printed until the head is whole; more may be with it. */
async function headOf(stdout: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk)
    if (Buffer.concat(chunks).includes('\r\n\r\n')) break
  }
  return Buffer.concat(chunks)
}

function startBackend(call: Call): ChildProcessWithoutNullStreams {
  // In a group of its own: the backend has children, and all of them must end with the request.
  const backend = spawn(backendProgram(), { env: environment(call), detached: true })
  // The backend may refuse before it has read the body; its answer tells more than the broken pipe.
  backend.stdin.on('error', () => {})
  backend.stdin.end(call.body)
  backend.stderr.resume()
  return backend
}

let program: string | undefined

function backendProgram(): string {
  program ??= join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')
  return program
}

function environment({ folder, path, query, request, body }: Call): Record<string, string> {
  return {
    ...gitEnvironment(),
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: decodeURIComponent(path),
    QUERY_STRING: query,
    REQUEST_METHOD: request.method ?? 'GET',
    REMOTE_ADDR: '127.0.0.1',
    CONTENT_TYPE: header(request, 'content-type'),
    CONTENT_LENGTH: String(body.length),
    HTTP_CONTENT_ENCODING: header(request, 'content-encoding'),
    GIT_PROTOCOL: header(request, 'git-protocol'),
  }
}

function header(request: IncomingMessage, name: string): string {
  return request.headers[name]?.toString() ?? ''
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It ended by itself in between.
  }
}

function parseAnswer(printed: Buffer): Answer {
  const end = printed.indexOf('\r\n\r\n')
  if (end === -1) return { status: 500, headers: {}, body: printed }
  const lines = printed.toString('latin1', 0, end).split('\r\n')
  const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  const { Status: status = '200 OK', ...headers }: Record<string, string> = Object.fromEntries(pairs)
  // The length would contradict a body that a fault cuts.
  delete headers['Content-Length']
  return { status: Number.parseInt(status, 10), headers, body: printed.subarray(end + 4) }
}
