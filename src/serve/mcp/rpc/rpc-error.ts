import { MAX_SUBSCRIPTIONS } from './caller.ts'
import type { Era } from './caller.ts'

/** A refusal that is sent to the client unchanged: code, message and data of a JSON-RPC error. */
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

/** JSON-RPC: the method exists, but its params are invalid. */
export const INVALID_PARAMS = -32602
/** JSON-RPC: the request is valid, but the server cannot answer it. */
export const INTERNAL_ERROR = -32603
/** The code of an unknown resource up to 2025-11-25; 2026-07-28 uses invalid params. */
export const RESOURCE_NOT_FOUND = -32002

/** Creates the error for a missing thing or a malformed request. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, data)
}

/** Creates the error for a client at its limit of `MAX_SUBSCRIPTIONS` resources. */
export function tooManySubscriptions(): RpcError {
  return invalidParams(
    `A session can subscribe to ${MAX_SUBSCRIPTIONS} resources; unsubscribe from some, or subscribe to their folder`,
  )
}

/** Creates the error for the limit on the subscriptions of all clients. */
export function noRoomForSubscriptions(): RpcError {
  return new RpcError(INTERNAL_ERROR, 'The server holds as many subscriptions as it can; try again later')
}

/**
 * Creates the error for an unknown resource in `resources/read` and `resources/subscribe`; each era has its own code.
 * `candidates`: URIs that the client may have meant.
 */
export function resourceNotFound(era: Era, uri: string, why: string, candidates: readonly string[] = []): RpcError {
  const [first] = candidates
  const hint = first === undefined ? '' : `; did you mean ${first}?`
  const data = { uri, ...(first !== undefined && { candidates }) }
  return new RpcError(era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS, `Resource not found: ${why}${hint}`, data)
}
