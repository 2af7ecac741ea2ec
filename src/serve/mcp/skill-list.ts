import type { Catalog } from '../../sync/model/catalog.ts'
import { MadeInSteps } from '../../sync/model/made-in-steps.ts'
import { offeringSteps } from '../../sync/model/offered.ts'
import type { Steps } from '../../sync/model/slices.ts'
import { pageOf } from './page.ts'
import type { PageLimits } from './page.ts'
import type { Params } from './params.ts'
import { invalidParams, RpcError } from './rpc-error.ts'
import { refusal } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/**
 * What `list_skills` answers: the whole list where it is no larger than a page of a listing, as it always was. Of a larger one a
 * page at a time, with the cursor of the next; also for whoever asks for pages.
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
  if (limit !== undefined && limit < 1) return refusal(`The limit is ${limit}; ask for 1 skill at the least`)
  const { rows, text, bytes } = listOf(catalog)
  if (cursor === undefined && limit === undefined && bytes <= pages.bytes) return { content: [{ type: 'text', text }] }
  const limits = { entries: limit ?? Number.POSITIVE_INFINITY, bytes: pages.bytes }
  return pageAnswer(catalog, rows, cursor, { limits, hasSearch })
}

/** As large as an answer can be: a page is in it twice. */
export function bytesOfList(catalog: Catalog, { cursor, limit }: Params): number {
  const { bytes } = listOf(catalog)
  return cursor === undefined && limit === undefined ? bytes : 2 * bytes
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
    const page = pageOf(rows, { catalog, of: 'list_skills' }, cursor, limits, (row) => Buffer.byteLength(row) + 1)
    const { items, nextCursor } = page
    const text = `[${items.join(',')}]`
    const skills: unknown = JSON.parse(text)
    if (nextCursor === undefined) return { content: [{ type: 'text', text }], structuredContent: { skills } }
    const next = `There are more: call list_skills with the cursor ${JSON.stringify(nextCursor)} for those that follow these ${items.length} of ${rows.length}${hasSearch ? ', or search_skills for those that fit a task' : ''}.`
    return {
      content: [
        { type: 'text', text },
        { type: 'text', text: next },
      ],
      structuredContent: { skills, nextCursor },
    }
  } catch (error) {
    // A model that is told so begins again; a fault of the protocol would not come to it.
    if (error instanceof RpcError) return refusal(error.message)
    throw error
  }
}

interface SkillList {
  /** Each as JSON. */
  readonly rows: readonly string[]
  readonly text: string
  readonly bytes: number
}

function listOf(catalog: Catalog): SkillList {
  return LISTS.of(catalog)
}

/** Makes the list in slices. */
export async function listingForModels(catalog: Catalog): Promise<SkillList> {
  return LISTS.ready(catalog)
}

const LISTS = new MadeInSteps<Catalog, SkillList>(listing)

function* listing(catalog: Catalog): Steps<SkillList> {
  const rows: string[] = []
  const { forModels } = yield* offeringSteps(catalog)
  for (const { id, name, source, description } of forModels) {
    rows.push(JSON.stringify({ id, name, source, description }))
    yield
  }
  const text = `[${rows.join(',')}]`
  return { rows, text, bytes: Buffer.byteLength(text) }
}
