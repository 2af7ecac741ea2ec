import type { ReadFile } from '../serve/content.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import type { Registry } from '../serve/registry.ts'
import type { Config } from './config.ts'

/** What the answers to clients are made from. */
export function servingOf({ serve, limits }: Config, registry: Registry, read: ReadFile): Serving {
  const { instructions, ttlMs } = serve
  const cache = { ttlMs, ...CACHE }
  return { registry, read, pages: limits.listing, cache, ...(instructions !== undefined && { instructions }) }
}

/** Whoever can ask at all is answered alike. */
const CACHE = { cacheScope: 'public' } as const
