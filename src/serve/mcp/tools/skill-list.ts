import type { Steps } from '../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../base/async/incremental.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { offeringSteps } from '../../../sync/catalog/tool-catalog.ts'
import { pageOf } from '../rpc/pagination.ts'
import type { PageLimits } from '../rpc/pagination.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams, RpcError } from '../rpc/rpc-error.ts'
import { BYTES_PER_TOKEN, placesTold } from './search/hits.ts'
import { refusal } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/**
 * Maximum bytes of a page for a model: about 8,000 tokens, as `tokensIn` counts them. A caller with a `limit` sets its
 * own size.
 */
const MODEL_PAGE_BYTES = 8_000 * BYTES_PER_TOKEN

/**
 * Returns the answer of `list_skills`: the whole list in its original form if it is short enough for a model. A longer
 * list comes in pages with a cursor, and so does any list for a caller that requests pages.
 */
export function skillList(
  catalog: Catalog,
  { cursor, limit }: Params,
  pages: PageLimits,
  hasSearch = true,
): ToolAnswer {
  if (cursor !== undefined && typeof cursor !== 'string') throw invalidParams('`cursor` is a string')
  if (limit !== undefined && !(typeof limit === 'number' && Number.isSafeInteger(limit)))
    throw invalidParams('`limit` is a whole number')
  if (limit !== undefined && limit < 1) return refusal(`The limit is ${limit}; use at least 1`)
  const { rows, text, bytes } = listOf(catalog)
  const most = limit === undefined ? Math.min(pages.bytes, MODEL_PAGE_BYTES) : pages.bytes
  if (cursor === undefined && limit === undefined && bytes <= most) return { content: [{ type: 'text', text }] }
  const limits = { entries: limit ?? Number.POSITIVE_INFINITY, bytes: most }
  return pageAnswer(catalog, rows, cursor, { limits, hasSearch })
}

/** Returns the maximum size of an answer: a page is in it twice. */
export function bytesOfList(catalog: Catalog, { cursor, limit }: Params): number {
  const { bytes } = listOf(catalog)
  if (limit !== undefined) return 2 * bytes
  return cursor === undefined && bytes <= MODEL_PAGE_BYTES ? bytes : 2 * Math.min(bytes, MODEL_PAGE_BYTES)
}

interface Paging {
  readonly limits: PageLimits
  readonly hasSearch: boolean
}

function pageAnswer(
  catalog: Catalog,
  rows: readonly string[],
  cursor: unknown,
  { limits, hasSearch }: Paging,
): ToolAnswer {
  try {
    const page = pageOf(
      rows,
      { catalog, of: 'list_skills' },
      { cursor, limits, sizeOf: (row) => Buffer.byteLength(row) + 1 },
    )
    const { items, nextCursor } = page
    const text = `[${items.join(',')}]`
    const skills: unknown = JSON.parse(text)
    const total = rows.length
    if (nextCursor === undefined) return { content: [{ type: 'text', text }], structuredContent: { skills, total } }
    return {
      content: [
        { type: 'text', text },
        { type: 'text', text: moreText(items.length, total, nextCursor, hasSearch) },
      ],
      structuredContent: { skills, total, nextCursor },
    }
  } catch (error) {
    // A model that gets this message starts again; a protocol error would not reach the model.
    if (error instanceof RpcError) return refusal(error.message)
    throw error
  }
}

function moreText(count: number, total: number, nextCursor: string, hasSearch: boolean): string {
  const search = hasSearch ? ' search_skills finds those that fit a task, with a few words, and costs far less.' : ''
  return `These are ${count} of ${total} skills.${search} To go on with the list, call list_skills with the cursor ${JSON.stringify(nextCursor)}.`
}

interface SkillList {
  /** The rows as JSON, one for each distinct content. */
  readonly rows: readonly string[]
  readonly text: string
  readonly bytes: number
}

function listOf(catalog: Catalog): SkillList {
  return LISTS.of(catalog)
}

/** Builds the list in slices. */
export async function listingForModels(catalog: Catalog): Promise<SkillList> {
  return LISTS.ready(catalog)
}

const LISTS = new IncrementalCache<Catalog, SkillList>(listing)

function* listing(catalog: Catalog): Steps<SkillList> {
  const rows: string[] = []
  const offered = yield* offeringSteps(catalog)
  for (const one of offered.distinct) {
    const { id, name, source, description } = one
    rows.push(JSON.stringify({ id, name, source, ...placesTold(offered.placesOf(one)), description }))
    yield
  }
  const text = `[${rows.join(',')}]`
  return { rows, text, bytes: Buffer.byteLength(text) }
}
