import { parentPort } from 'node:worker_threads'
import { threadMs } from '../../../../base/async/thread-time.ts'
import { Store } from '../../../../sync/store/store.ts'
import type { ShareHolder } from '../../../fair-shares.ts'
import type { SkillQuery } from '../../core/finder.ts'
import { headingsOf } from './search-documents.ts'
import type { Searched } from './search-documents.ts'
import { SearchQueue } from './search-queue.ts'
import type { SearchEnd } from './search-queue.ts'
import { SkillIndex } from './skill-index.ts'

// The thread that holds the indexes. Adding thousands of skills to an index takes a second, and the time of a query
// depends on its words. The thread has normal priority: a search answers a client just as a read does. On busy cores, a
// thread with lower priority gets a tenth of the time of the others.

export type SearchQuestion =
  | {
      readonly kind: 'change'
      readonly index: number
      /** True if the index consists only of these. */
      readonly isNew: boolean
      readonly state: string
      readonly gone: readonly string[]
      readonly skills: readonly Searched[]
    }
  /** Begins some searches, drops others, and continues the running ones. */
  | { readonly kind: 'search'; readonly begin: readonly SearchBegin[]; readonly drop: readonly number[] }
  | { readonly kind: 'forget'; readonly index: number }

export interface SearchBegin {
  readonly id: number
  readonly index: number
  readonly holder: ShareHolder
  readonly query: SkillQuery
}

/** `unknown`: the index, or the index of those searches, does not exist. The thread was ended since it was built. */
export type SearchAnswer =
  | { readonly kind: 'done' | 'unknown' }
  | { readonly kind: 'searched'; readonly unknown: readonly number[]; readonly ended: readonly SearchEnd[] }

const INDEXES = new Map<number, SkillIndex>()

/**
 * Headings by the digest of the SKILL.md, because the same file is in several catalogs and in successive generations.
 */
const HEADINGS = new Map<string, string>()
const MOST_HEADINGS = 20_000

const SEARCHES = new SearchQueue(threadMs)

/** The time for searches before it reports the ended ones and accepts others. */
const WORK_MS = 1

parentPort?.on('message', (question: SearchQuestion) => {
  // If it fails, the thread ends without an answer.
  void answer(question).then((answer) => parentPort?.postMessage(answer, []))
})

async function answer(question: SearchQuestion): Promise<SearchAnswer> {
  switch (question.kind) {
    case 'change': {
      const index = question.isNew ? new SkillIndex() : INDEXES.get(question.index)
      if (index === undefined) return { kind: 'unknown' }
      INDEXES.set(question.index, index)
      SEARCHES.endIn(question.index)
      for (const id of question.gone) index.delete(id)
      using store = await Store.openExisting(question.state)
      for (const skill of question.skills) index.set({ ...skill.text, headings: await headingsIn(store, skill) })
      return { kind: 'done' }
    }
    case 'search':
      for (const id of question.drop) SEARCHES.drop(id)
      return {
        kind: 'searched',
        unknown: question.begin.filter((search) => !hasBegun(search)).map(({ id }) => id),
        ended: SEARCHES.work(WORK_MS),
      }
    case 'forget':
      INDEXES.delete(question.index)
      SEARCHES.endIn(question.index)
      return { kind: 'done' }
    default:
      return question satisfies never
  }
}

function hasBegun({ id, index: key, holder, query }: SearchBegin): boolean {
  const index = INDEXES.get(key)
  if (index !== undefined) SEARCHES.begin({ id, index: key, holder, steps: index.finding(query.text, query.limit) })
  return index !== undefined
}

/** Reads one file after the other: reads for clients use the same few threads of the process. */
async function headingsIn(store: Store | undefined, { document }: Searched): Promise<string> {
  if (store === undefined || document === undefined) return ''
  const { sha256 } = document.file
  const headings = HEADINGS.get(sha256) ?? (await headingsOf(store, document))
  if (headings === undefined) return ''
  HEADINGS.delete(sha256)
  HEADINGS.set(sha256, headings)
  for (const oldest of HEADINGS.keys()) {
    if (HEADINGS.size <= MOST_HEADINGS) break
    HEADINGS.delete(oldest)
  }
  return headings
}
