import type { ServerResponse } from 'node:http'
import { unsentOf } from './backpressure.ts'

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void {
  sendJsonText(response, status, JSON.stringify(value), headers)
}

/** Answers with JSON that is text already. */
export function sendJsonText(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  sendJsonPieces(response, status, [Buffer.from(text)], headers)
}

/** Answers with JSON that is there in pieces of its bytes. */
export function sendJsonPieces(
  response: ServerResponse,
  status: number,
  pieces: readonly Uint8Array[],
  headers: Headers = {},
): void {
  sendPieces(response, status, { 'content-type': 'application/json', ...headers }, pieces)
}

/**
 * Answers with bytes that are there in pieces. `own`: how many of them are held for this answer alone. Above what all answers
 * together may hold it is refused, and is to be asked for again.
 */
export function sendPieces(
  response: ServerResponse,
  status: number,
  headers: Headers,
  pieces: readonly Uint8Array[],
  own?: number,
): void {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  if (length > SMALL_BYTES && !hasRoom(response, own ?? length)) return sendBusy(response)
  response.writeHead(status, { 'content-length': length, ...headers })
  if (length > SMALL_BYTES) return writeAsTaken(response, pieces)
  // Node hands a head and a text over in one write; each piece of bytes is one more, which small ones are not worth.
  if (length <= COPIED_BYTES) response.end(Buffer.concat(pieces).toString('latin1'), 'latin1')
  else {
    response.cork()
    for (const piece of pieces) response.write(piece)
    response.end()
  }
  if (response.socket !== null && response.socket.writableLength > 0)
    unsentOf(response)?.watch(response, length, () => length)
}

/** Up to here it costs less to copy pieces than to write each of them. */
const COPIED_BYTES = 32 * 1024

/** Up to here an answer is never refused, and is written whole. Of larger ones so much is written at once. */
const SMALL_BYTES = 64 * 1024

/** Whether there is room for so many bytes besides those that clients have not taken. It is held until the response closes. */
export function hasRoom(response: ServerResponse, bytes: number): boolean {
  return bytes <= SMALL_BYTES || (unsentOf(response)?.hold(response, bytes) ?? true)
}

/** Answers that there is no room. */
export function sendBusy(response: ServerResponse, id: string | number | null = null): void {
  const headers = { 'retry-after': '1' }
  sendError(response, 503, -32000, 'Too much is being sent; try again', { id, headers })
}

/** Answers a client that has its share of all streams already. */
export function sendNoStream(response: ServerResponse, id: string | number | null = null): void {
  sendError(response, 503, -32000, NO_STREAM, { id, headers: { 'retry-after': '30' } })
}

export const NO_STREAM = 'All streams are open, and this client has its share of them: close one, and try again'

/** Answers a client that would see one more part of the catalog, and has its share of all parts that there may be. */
export function sendCrowded(response: ServerResponse): void {
  sendError(response, 503, -32000, CROWDED, { headers: { 'retry-after': '60' } })
}

const CROWDED =
  'As many combinations of packs are in use as there may be, and this client has its share of them: use one of those, or try again in a minute'

/** Part by part as the client takes them: of one large write nobody could tell how far it is. */
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

/** Answers a request that was not understood, or not let in, with a JSON-RPC error. */
export function sendError(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  options: { readonly id?: string | number | null; readonly data?: unknown; readonly headers?: Headers } = {},
): void {
  const { id = null, data, headers } = options
  const error = { code, message, ...(data !== undefined && { data }) }
  reasons.set(response, message)
  sendJson(response, status, { jsonrpc: '2.0', id, error }, headers)
}

/** What an answer was refused with. */
export function reasonOf(response: ServerResponse): string | undefined {
  return reasons.get(response)
}

const reasons = new WeakMap<ServerResponse, string>()

/** Answers with nothing but a status. */
export function sendStatus(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, headers)
  response.end()
}

type Headers = Readonly<Record<string, string>>
