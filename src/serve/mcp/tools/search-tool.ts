import { offeredIn } from '../../../sync/catalog/tool-catalog.ts'
import type { Registry } from '../../registry.ts'
import type { Finder } from '../core/finder.ts'
import type { Caller } from '../rpc/caller.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { hitsWithin } from './search/hits.ts'
import { DEFAULT_HITS, LEAST_TOKENS, MOST_CHARACTERS, MOST_HITS } from './search/query.ts'
import { refusal } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/** A validated call of `search_skills`. */
export interface Search {
  readonly text: string
  readonly limit: number
  readonly maxTokens: number | undefined
}

/**
 * Parses a call. It returns an answer for an error that a model can correct. A type that the schema does not allow is a
 * protocol error.
 */
export function searchAsked({ query, limit = DEFAULT_HITS, max_tokens: maxTokens }: Params): Search | ToolAnswer {
  if (typeof query !== 'string') throw invalidParams('`query` is required, and is a string')
  if (!isWhole(limit)) throw invalidParams('`limit` is a whole number')
  if (maxTokens !== undefined && !isWhole(maxTokens)) throw invalidParams('`max_tokens` is a whole number')
  if (query.trim() === '') return refusal('The query is empty; describe the task in a few words')
  if (query.length > MOST_CHARACTERS)
    return refusal(
      `The query has ${query.length} characters, and ${MOST_CHARACTERS} are read at most; describe the task in a few words`,
    )
  if (limit < 1 || limit > MOST_HITS) return refusal(`The limit is ${limit}; use 1 to ${MOST_HITS} skills`)
  if (maxTokens !== undefined && maxTokens < LEAST_TOKENS)
    return refusal(`No answer fits into ${maxTokens} tokens; allow at least ${LEAST_TOKENS}`)
  return { text: query, limit, maxTokens }
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value)
}

/** The caller that a search counts for. */
export type SearchCaller = Pick<Caller, 'holder' | 'turn'>

/**
 * Returns the answer of `search_skills`: an object, and the same object as text for clients without structured content.
 */
export async function searchSkills(
  finder: Finder,
  registry: Registry,
  { text, limit, maxTokens }: Search,
  { holder, turn }: SearchCaller,
): Promise<ToolAnswer> {
  const found = await finder.find(registry, { text, limit }, holder)
  await turn?.()
  switch (found.kind) {
    case 'found': {
      const offered = offeredIn(found.catalog)
      const hits = hitsWithin(found.skills, maxTokens, (one) => offered.placesOf(one))
      const answer = { content: [{ type: 'text', text: JSON.stringify(hits) } as const], structuredContent: hits }
      return found.skills.length > 0 ? answer : { ...answer, content: [...answer.content, NOTHING_FOUND] }
    }
    case 'late':
      return refusal('The index of the skills is still being made; search again in a moment, or call list_skills')
    case 'crowded':
      return refusal('Too many of your searches wait to be answered; search again when one is, or call list_skills')
    case 'failed':
      return refusal('The skills cannot be searched at the moment; call list_skills, or search again later')
    default:
      return found satisfies never
  }
}

const NOTHING_FOUND = {
  type: 'text',
  text: 'No skill has any of these words; try other words for the task, or call list_skills.',
} as const

/** Estimates the size of the answer: each hit is in it twice. */
export function bytesOfSearch(given: Params): number {
  const { limit = DEFAULT_HITS, max_tokens: maxTokens } = given
  const hits = isWhole(limit) && limit > 0 ? Math.min(limit, MOST_HITS) : 0
  const bytes = isWhole(maxTokens) && maxTokens > 0 ? Math.min(4 * maxTokens, hits * HIT_BYTES) : hits * HIT_BYTES
  return 2 * bytes
}

const HIT_BYTES = 1_200
