import type { ServerResponse } from 'node:http'

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
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
  // Node hands a head and a text over in one write; each piece of bytes is one more, which small ones are not worth.
  if (length <= COPIED_BYTES) return void response.end(Buffer.concat(pieces).toString('latin1'), 'latin1')
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
}

/** Up to here it costs less to copy pieces than to write each of them. */
const COPIED_BYTES = 32 * 1024

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
  sendJson(response, status, { jsonrpc: '2.0', id, error }, headers)
}

/** Answers with nothing but a status. */
export function sendStatus(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, headers)
  response.end()
}

type Headers = Readonly<Record<string, string>>
