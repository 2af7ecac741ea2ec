import type { Recorded } from './hostile-request.ts'

export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

/** A JSON-RPC error. Its HTTP status is the one that its era gives the code, unless another is named. */
export class RpcFault extends Error {
  readonly code: number
  readonly data: unknown
  readonly status: number | undefined

  constructor(code: number, message: string, data?: unknown, status?: number) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

/** What goes out as it stands: the body of a response, or a line of stdio. */
export interface RawBody {
  readonly raw: string | Uint8Array
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer, else the ordinary one, of which each byte waits for so long. */
export interface Trickle {
  readonly delayPerByteMs: number
  readonly answer?: Answer
}

/**
 * What a method is answered with. An object is the result, to which the modern era adds the fields it wants in each; one that
 * is there as `undefined` is left out. `silence` is no answer at all, `drop` the end of the connection. Undefined is what
 * would be answered anyway.
 */
export type Answer = object | RpcFault | RawBody | Trickle | 'silence' | 'drop' | undefined

export type Answerer = (params: any, request: Recorded) => Answer | Promise<Answer>

/** What an edge is to do with a request. */
export type Reply =
  | { readonly kind: 'silence' | 'drop' | 'listen' | 'accepted' }
  | {
      readonly kind: 'body'
      readonly body: string | Uint8Array
      readonly status: number
      /** Of a raw body. */
      readonly headers?: Readonly<Record<string, string>> | undefined
      readonly delayPerByteMs?: number
      readonly isResult?: true
    }

export function isRaw(answer: object): answer is RawBody {
  return 'raw' in answer
}

export function isTrickle(answer: object): answer is Trickle {
  return 'delayPerByteMs' in answer
}

export function resultReply({ id }: Recorded, result: object): Reply {
  return { kind: 'body', body: JSON.stringify({ jsonrpc: '2.0', id, result }), status: 200, isResult: true }
}

export function rawReply({ raw, status = 200, headers }: RawBody): Reply {
  return { kind: 'body', body: raw, status, headers }
}

export function faultReply(
  { id = null, era }: Pick<Recorded, 'era'> & { readonly id?: unknown },
  fault: RpcFault,
): Reply {
  const { code, message, data } = fault
  const error = { code, message, ...(data !== undefined && { data }) }
  const status = fault.status ?? (era === 'modern' ? statusOf(code) : 200)
  return { kind: 'body', body: JSON.stringify({ jsonrpc: '2.0', id, error }), status }
}

/** The errors that 2026-07-28 gives a status of its own. */
function statusOf(code: number): number {
  if (code === METHOD_NOT_FOUND) return 404
  return code <= -32020 && code >= -32022 ? 400 : 200
}
