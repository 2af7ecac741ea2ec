import type { ServerResponse } from 'node:http'
import { LEFT_STATUS } from '../../meter.ts'
import { unsentOf } from './response-backpressure.ts'

/** Sends a value as JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void {
  sendJsonText(response, status, JSON.stringify(value), headers)
}

/** Sends serialized JSON. */
export function sendJsonText(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  sendJsonPieces(response, status, [Buffer.from(text)], headers)
}

/** Sends serialized JSON in pieces of bytes. */
export function sendJsonPieces(
  response: ServerResponse,
  status: number,
  pieces: readonly Uint8Array[],
  headers: Headers = {},
): void {
  sendPieces(response, { status, headers: { 'content-type': 'application/json', ...headers }, pieces })
}

/** Sends pieces of bytes. If all responses together exceed their limit, it sends 503 and the client must retry. */
export function sendPieces(
  response: ServerResponse,
  {
    status,
    headers,
    pieces,
  }: { readonly status: number; readonly headers: Headers; readonly pieces: readonly Uint8Array[] },
): void {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  if (length > SMALL_BYTES && !hasRoom(response, length)) return sendBusy(response)
  response.writeHead(status, { 'content-length': length, ...headers })
  if (length > SMALL_BYTES) return writeAsTaken(response, pieces)
  // Node sends a head and a text in one write. Each piece of bytes is a further write, which is too costly for small
  // ones.
  if (length <= COPIED_BYTES) response.end(Buffer.concat(pieces).toString('latin1'), 'latin1')
  else {
    response.cork()
    for (const piece of pieces) response.write(piece)
    response.end()
  }
  if (response.socket !== null && response.socket.writableLength > 0)
    unsentOf(response)?.watch(response, length, () => length)
}

/** The size up to which copying the pieces is cheaper than writing each of them. */
const COPIED_BYTES = 32 * 1024

/**
 * The size up to which a response is never refused and is written whole. Larger ones are written in parts of this size.
 */
const SMALL_BYTES = 64 * 1024

/**
 * True if there is room for the bytes next to those that clients have not read. It is reserved until the response
 * closes.
 */
export function hasRoom(response: ServerResponse, bytes: number): boolean {
  return bytes <= SMALL_BYTES || (unsentOf(response)?.hold(response, bytes) ?? true)
}

/** Sends 503: there is no room for the response. */
export function sendBusy(response: ServerResponse, id: string | number | null = null): void {
  const headers = { 'retry-after': '1' }
  sendError(response, { status: 503, code: -32000, message: 'Too much is being sent; try again', id, headers })
}

/** Sends 503 to a client that has its share of all streams already. */
export function sendNoStream(response: ServerResponse, id: string | number | null = null): void {
  sendError(response, { status: 503, code: -32000, message: NO_STREAM, id, headers: { 'retry-after': '30' } })
}

export const NO_STREAM = 'All streams are open, and this client has its share of them: close one, and try again'

/** Sends 503 to a client that requests one more view and has its share of all views already. */
export function sendCrowded(response: ServerResponse): void {
  sendError(response, { status: 503, code: -32000, message: CROWDED, headers: { 'retry-after': '60' } })
}

const CROWDED =
  'As many combinations of packs are in use as there may be, and this client has its share of them: use one of those, or try again in a minute'

/** Writes part by part as the client reads: the progress of one large write cannot be observed. */
function writeAsTaken(response: ServerResponse, pieces: readonly Uint8Array[]): void {
  const parts = partsOf(pieces)
  let written = 0
  let next = 0
  const write = (): void => {
    for (let part = parts[next]; part !== undefined && !response.destroyed; part = parts[next]) {
      next += 1
      written += part.byteLength
      if (!response.write(part)) return
    }
    if (!response.writableEnded) response.end()
  }
  unsentOf(response)?.watch(response, 0, () => written)
  response.on('drain', write)
  write()
}

function partsOf(pieces: readonly Uint8Array[]): Uint8Array[] {
  return pieces.flatMap((piece) =>
    Array.from({ length: Math.ceil(piece.byteLength / SMALL_BYTES) }, (_, index) =>
      piece.subarray(index * SMALL_BYTES, (index + 1) * SMALL_BYTES),
    ),
  )
}

/** A JSON-RPC error, and the status of its response. */
interface ErrorReply {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly id?: string | number | null
  readonly data?: unknown
  readonly headers?: Headers
}

/** Sends a JSON-RPC error for a request that is malformed or denied. */
export function sendError(
  response: ServerResponse,
  { status, code, message, id = null, data, headers }: ErrorReply,
): void {
  const error = { code, message, ...(data !== undefined && { data }) }
  reasons.set(response, message)
  sendJson(response, status, { jsonrpc: '2.0', id, error }, headers)
}

/** Sends a refusal for a client that does not speak JSON-RPC, as a `Status` of google.rpc. */
export function sendRefusal(response: ServerResponse, status: number, message: string, headers?: Headers): void {
  reasons.set(response, message)
  sendJson(response, status, { message }, headers)
}

/** Returns the error message that a response was sent with. */
export function refusalReasonOf(response: ServerResponse): string | undefined {
  return reasons.get(response)
}

const reasons = new WeakMap<ServerResponse, string>()

/** Sends a response without a body. */
export function sendStatus(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, headers)
  response.end()
}

type Headers = Readonly<Record<string, string>>

/**
 * The status for the metrics; `LEFT_STATUS` if the client left before the response. Such a client may have been sent a
 * 500.
 */
export function statusTo(response: ServerResponse): number {
  return !response.headersSent || isUnwaited(response) ? LEFT_STATUS : response.statusCode
}

/** A request that fails because its client left ends like an internal error. */
export function isUnwaited({ statusCode, destroyed }: ServerResponse): boolean {
  return statusCode === 500 && destroyed
}
