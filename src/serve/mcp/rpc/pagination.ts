import { createHash } from 'node:crypto'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { invalidParams } from './rpc-error.ts'

/** The limits of one page of a listing. An entry never spans pages, and a page has at least one entry. */
export interface PageLimits {
  readonly entries: number
  readonly bytes: number
}

/** Some items of a listing, and the cursor of the rest, if there is more. */
export interface ListPage<Item> {
  readonly items: Item[]
  readonly nextCursor?: string
}

/** The page that a client asks for, and its limits. */
export interface PageRequest<Item> {
  /** Sent by the client, so of any type; `undefined` for the first page. */
  readonly cursor: unknown
  readonly limits: PageLimits
  /** The bytes that an item takes in the answer. */
  readonly sizeOf: (item: Item) => number
}

/**
 * Returns one page of a listing. Cursors are opaque and bound to the catalog and the listing. After a change of the
 * catalog, or with a cursor of another listing, the client must start again; it never gets a mixture.
 */
export function pageOf<Item>(
  items: readonly Item[],
  listing: { readonly catalog: Catalog; readonly of: string },
  { cursor, limits, sizeOf }: PageRequest<Item>,
): ListPage<Item> {
  const seal = sealOf(listing.catalog, listing.of)
  const start = cursor === undefined ? 0 : offsetOf(cursor, seal, items.length)
  let bytes = 0
  let end = start
  while (end < items.length && end - start < limits.entries) {
    const item = items[end]
    if (item === undefined) break
    bytes += sizeOf(item)
    if (bytes > limits.bytes && end > start) break
    end += 1
  }
  const page = items.slice(start, end)
  return end < items.length ? { items: page, nextCursor: `${seal}.${end.toString(36)}` } : { items: page }
}

function sealOf(catalog: Catalog, of: string): string {
  return createHash('sha256').update(`${catalog.digest}\n${of}`).digest('base64url').slice(0, 16)
}

function offsetOf(cursor: unknown, seal: string, length: number): number {
  const [given, offset] = typeof cursor === 'string' ? cursor.split('.') : []
  const start =
    given === seal && offset !== undefined && /^[0-9a-z]{1,8}$/.test(offset) ? Number.parseInt(offset, 36) : -1
  if (start <= 0 || start >= length) {
    throw invalidParams(
      'The cursor is not one of this listing, or the catalog has moved on; start again without a cursor',
    )
  }
  return start
}
