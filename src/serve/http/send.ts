import type { ServerResponse } from 'node:http'

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void {
  sendJsonText(response, status, JSON.stringify(value), headers)
}

/** Answers with JSON that is text already, in one write with its length: three small writes cost as much as making it. */
export function sendJsonText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Headers = {},
): void {
  const body = typeof text === 'string' ? Buffer.from(text) : text
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers })
  response.end(body)
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
  sendJson(response, status, { jsonrpc: '2.0', id, error }, headers)
}

/** Answers with nothing but a status. */
export function sendStatus(response: ServerResponse, status: number, headers: Headers = {}): void {
  response.writeHead(status, headers)
  response.end()
}

type Headers = Readonly<Record<string, string>>
