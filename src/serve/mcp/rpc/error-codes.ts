import type { Era } from './caller.ts'
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from './rpc-error.ts'

const OF_RESOURCES: ReadonlySet<string> = new Set(['resources/read', 'resources/subscribe'])

/** True if an error code of the method depends on the era. */
function hasEraCode(method: string): boolean {
  return OF_RESOURCES.has(method)
}

/**
 * Sets the error code of the era for an unknown resource. The SDK uses the modern code in both eras, but revisions up
 * to 2025-11-25 require -32002. Only this error of these methods has the URI in its data.
 */
export function withEraCode<Message extends object>(message: Message, era: Era, method: string): Message {
  if (era !== 'legacy' || !hasEraCode(method) || !('error' in message)) return message
  const { error } = message
  if (typeof error !== 'object' || error === null || !('code' in error) || error.code !== INVALID_PARAMS) return message
  if (!('data' in error) || typeof error.data !== 'object' || error.data === null || !('uri' in error.data))
    return message
  return { ...message, error: { ...error, code: RESOURCE_NOT_FOUND } }
}
