import type { JsonObject } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'

/** A JSON-RPC answer: the result as received, or the error. */
export type Reply =
  | { readonly ok: true; readonly result: JsonObject }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly data?: unknown }

/** A message to the server. */
export type Outgoing =
  | { readonly jsonrpc: '2.0'; readonly id: number; readonly method: string; readonly params: JsonObject }
  | { readonly jsonrpc: '2.0'; readonly method: string; readonly params: JsonObject }
  | { readonly jsonrpc: '2.0'; readonly id: string | number; readonly result: JsonObject }
  | { readonly jsonrpc: '2.0'; readonly id: string | number; readonly error: { code: number; message: string } }

/** A valid JSON-RPC message from the server. */
export type Incoming =
  | { readonly kind: 'answer'; readonly id: unknown; readonly reply: Reply }
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string }
  | { readonly kind: 'notice'; readonly notice: Notification }

export interface Notification {
  readonly method: string
  readonly params: JsonObject
}

/** The JSON-RPC error code. */
export const METHOD_NOT_FOUND = -32601

/** Parses one message; `undefined` if it is not one. A result is only checked to be an object. */
export function readMessage(raw: unknown): Incoming | undefined {
  if (!isMapping(raw)) return undefined
  const { id, method, params } = raw
  if (typeof method !== 'string') {
    const reply = replyIn(raw)
    return reply === undefined ? undefined : { kind: 'answer', id, reply }
  }
  if (typeof id === 'string' || typeof id === 'number') return { kind: 'request', id, method }
  return { kind: 'notice', notice: { method, params: isMapping(params) ? params : {} } }
}

function replyIn({ result, error }: JsonObject): Reply | undefined {
  if (isMapping(result)) return { ok: true, result }
  if (!isMapping(error)) return undefined
  const { code, message, data } = error
  if (typeof code !== 'number') return undefined
  const text = typeof message === 'string' ? message : ''
  return { ok: false, code, message: text, ...(data !== undefined && { data }) }
}

export type RpcRefusal = Extract<Reply, { readonly ok: false }>
