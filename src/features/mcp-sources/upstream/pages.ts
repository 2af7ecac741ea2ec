import type { ListingBudget } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { jsonWeightOf } from '../client/json-weight.ts'
import type { McpConnection } from '../client/mcp-connection.ts'
import type { RpcRefusal, Reply } from '../client/message.ts'
import type { CacheHints } from './cache-hints.ts'

/** The context of an enumeration. */
export interface Enumerating {
  readonly connection: Pick<McpConnection, 'request'>
  readonly budget: ListingBudget
  readonly hints: CacheHints
  readonly signal: AbortSignal
}

/** A list of what, by which method, in which field of its answer. */
export interface ListRequest {
  readonly method: string
  readonly key: string
  readonly params?: { readonly uri: string }
  /** Timeout of the first page; by default that of any request. */
  readonly firstMs?: number
}

/** The used part of a budget. Lists that form one enumeration share it. */
export class SpentBudgetError {
  readonly #budget: ListingBudget
  #entries = 0
  #bytes = 0

  constructor(budget: ListingBudget) {
    this.#budget = budget
  }

  /** Called before any of the entries is taken. */
  addEntries(method: string, count: number): void {
    this.#entries += count
    if (this.#entries > this.#budget.entries) throw tooManyItems(method, 'listing_entries', this.#budget.entries)
  }

  addBytes(method: string, entry: unknown): void {
    this.#bytes += jsonWeightOf(Buffer.from(JSON.stringify(entry)))
    if (this.#bytes > this.#budget.bytes) throw tooManyItems(method, 'listing_bytes', this.#budget.bytes)
  }
}

/**
 * Returns all pages of a list, or the refusal of the first page. A server can send new cursors forever, so pages,
 * entries, bytes and time are limited.
 */
export async function allOf(
  asked: ListRequest,
  enumerating: Enumerating,
  spent = new SpentBudgetError(enumerating.budget),
): Promise<readonly unknown[] | RpcRefusal> {
  const { method, key } = asked
  const { budget, hints, signal } = enumerating
  const overall = AbortSignal.any([signal, AbortSignal.timeout(budget.timeoutMs)])
  const entries: unknown[] = []
  const cursors = new Set<string>()
  for (let cursor: string | undefined, page = 1; ; page += 1) {
    const reply = await pageOf(asked, cursor, { ...enumerating, overall })
    if (!reply.ok) {
      if (page === 1) return reply
      throw enumerationRefusal(method, reply)
    }
    hints.hear(method, reply.result)
    const { [key]: items, nextCursor } = reply.result
    if (!Array.isArray(items)) throw enumerationFault(method, `its answer has no list "${key}"`)
    spent.addEntries(method, items.length)
    for (const item of items) {
      const entry = withinDepth(item)
      entries.push(entry)
      spent.addBytes(method, entry)
    }
    if (nextCursor === undefined || nextCursor === null) return entries
    if (typeof nextCursor !== 'string') throw enumerationFault(method, 'its cursor is not text')
    if (cursors.has(nextCursor)) throw enumerationFault(method, 'it repeats a cursor')
    if (page === budget.pages) throw tooManyItems(method, 'listing_pages', budget.pages)
    cursors.add(nextCursor)
    cursor = nextCursor
  }
}

async function pageOf(
  { method, params, firstMs }: ListRequest,
  cursor: string | undefined,
  { connection, budget, signal, overall }: Enumerating & { readonly overall: AbortSignal },
): Promise<Reply> {
  try {
    const sent = { ...params, ...(cursor !== undefined && { cursor }) }
    return await connection.request(method, sent, overall, cursor === undefined ? firstMs : undefined)
  } catch (error) {
    if (signal.aborted || !overall.aborted) throw error
    throw new SyncError('source-unreachable', `Cannot enumerate with ${method}: not done after ${budget.timeoutMs} ms`)
  }
}

/** Converts a refusal into an error. */
export function enumerationRefusal(method: string, { code, message }: RpcRefusal): SyncError {
  const said = message.slice(0, 200)
  return new SyncError('source-unreachable', `Cannot enumerate with ${method}: the server answers ${code}, "${said}"`)
}

export function enumerationFault(method: string, why: string): SyncError {
  return new SyncError('content-refused', `Cannot enumerate with ${method}: ${why}`)
}

export function tooManyItems(method: string, key: string, most: number): SyncError {
  return new SyncError('limit-exceeded', `Cannot enumerate with ${method}: it is more than budgets.${key} (${most})`, {
    place: `budgets.${key}`,
  })
}
