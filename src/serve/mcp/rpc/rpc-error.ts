import { MAX_SUBSCRIPTIONS } from './caller.ts'
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

/** JSON-RPC: the method is known, and what it was given is not right. */
export const INVALID_PARAMS = -32602
/** JSON-RPC: the request was right, and cannot be answered. */
export const INTERNAL_ERROR = -32603
/** What 2025-11-25 and earlier call an unknown resource; 2026-07-28 calls it invalid params. */
export const RESOURCE_NOT_FOUND = -32002

/** What was asked for is not there, or not asked for in the right way. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, data)
}

/** What is refused to a client that already waits to hear of `MAX_SUBSCRIPTIONS` resources. */
export function tooManySubscriptions(): RpcError {
  return invalidParams(
    `A session can subscribe to ${MAX_SUBSCRIPTIONS} resources; unsubscribe from some, or subscribe to their folder`,
  )
}

/** What is refused while the subscriptions of all clients cost what they may. */
export function noRoomForSubscriptions(): RpcError {
  return new RpcError(INTERNAL_ERROR, 'The server holds as many subscriptions as it can; try again later')
}

/**
 * An unknown resource of `resources/read` and `resources/subscribe`: the two eras have a code each. `candidates`: URIs that may be
 * meant.
 */
export function resourceNotFound(era: Era, uri: string, why: string, candidates: readonly string[] = []): RpcError {
  const [first] = candidates
  const hint = first === undefined ? '' : `; did you mean ${first}?`
  const data = { uri, ...(first !== undefined && { candidates }) }
  return new RpcError(era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS, `Resource not found: ${why}${hint}`, data)
}
