import type { Era } from './caller.ts'

/** A refusal that goes to the client as it is: code, message and data of a JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** What 2025-11-25 and earlier call an unknown resource; 2026-07-28 calls it invalid params. */
export const RESOURCE_NOT_FOUND = -32002

export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, data)
}

/** An unknown resource of `resources/read` and `resources/subscribe`: the two eras have a code each. */
export function resourceNotFound(era: Era, uri: string, why: string): RpcError {
  return new RpcError(era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS, `Resource not found: ${why}`, { uri })
}
