import { isObject } from '../../base/json-object.ts'
import type { Fault } from './config-error.ts'

/**
 * Checks the preconditions of a fallback: the source's skills are locked, and the fallback is an enabled MCP server.
 */
export function fallbackFaults(sources: readonly unknown[]): Fault[] {
  const servers = new Set(sources.filter(isServer).map(({ id }) => id))
  return sources.flatMap((source, index): Fault[] => {
    if (!isObject(source) || source['fallback'] === undefined || !Object.hasOwn(source, 'url')) return []
    const path = ['sources', index, 'fallback']
    if (!servers.has(source['fallback']))
      return [{ path, message: 'must be the id of a source with `mcp` that is not disabled' }]
    if (source['update'] !== 'locked')
      return [{ path, at: 'key', message: 'goes with `update: locked` alone: only what is locked can be known again' }]
    return []
  })
}

function isServer(source: unknown): source is Readonly<Record<string, unknown>> {
  return isObject(source) && Object.hasOwn(source, 'mcp') && source['enabled'] !== false
}
