import { requestOf } from './wire.ts'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A request that opens a session of 2025-03-26, the revision that has batches. */
export function initializeOf(url: string, token: string): Buffer {
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
  return postOf(url, { authorization: `Bearer ${token}` }, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
}

/** A message of a session, or a batch of them. */
export function legacyOf(url: string, token: string, session: string, asked: object | readonly object[]): Buffer {
  const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': session }
  const messages = [asked].flat().map((one, id) => Object.assign({ jsonrpc: '2.0', id }, one))
  return postOf(url, headers, Array.isArray(asked) ? messages : messages[0])
}

/** The request with the token in its head. */
export function bearing(token: string, request: Buffer): Buffer {
  const text = request.toString()
  const at = text.indexOf('\r\n') + 2
  return Buffer.from(`${text.slice(0, at)}authorization: Bearer ${token}\r\n${text.slice(at)}`)
}

function postOf(url: string, headers: Readonly<Record<string, string>>, body: unknown): Buffer {
  return requestOf(url, 'POST', { ...HEADERS, ...headers }, JSON.stringify(body))
}
