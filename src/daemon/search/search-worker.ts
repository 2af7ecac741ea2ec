import { parentPort } from 'node:worker_threads'
import { SkillIndex } from '../../serve/search/skill-index.ts'
import type { SkillQuery } from '../../serve/search/query.ts'
import type { Holder } from '../../serve/fair-shares.ts'
import { Store } from '../../sync/store/store.ts'
import { SearchTurns } from './search-queue.ts'
import type { SearchEnd } from './search-queue.ts'
import { headingsOf } from './search-documents.ts'
import type { Searched } from './search-documents.ts'
import { threadMs } from '../../base/thread-time.ts'

// The thread that holds the indexes: to put thousands of skills into one takes a second, and a query takes as long as its words make
// it. It has the priority of all others: a search is an answer to a client as a read is, and on full cores a thread that gives way
// gets a tenth of what the others do.

export type SearchQuestion =
  | {
      readonly kind: 'change'
      readonly index: number
      /** Where it is made of these alone. */
      readonly isNew: boolean
      readonly state: string
      readonly gone: readonly string[]
      readonly skills: readonly Searched[]
    }
  /** Begins these, gives up those, and goes on with what has begun. */
  | { readonly kind: 'search'; readonly begin: readonly SearchBegin[]; readonly drop: readonly number[] }
  | { readonly kind: 'forget'; readonly index: number }

export interface SearchBegin {
  readonly id: number
  readonly index: number
  readonly holder: Holder
  readonly query: SkillQuery
}

/** `unknown`: there is no such index, or searches have none; the thread was ended since it was made. */
export type SearchAnswer =
  | { readonly kind: 'done' | 'unknown' }
  | { readonly kind: 'searched'; readonly unknown: readonly number[]; readonly ended: readonly SearchEnd[] }

const INDEXES = new Map<number, SkillIndex>()

/** By the digest of the SKILL.md: it is in more than one catalog, and in one generation after another. */
const HEADINGS = new Map<string, string>()
const MOST_HEADINGS = 20_000

const SEARCHES = new SearchTurns(threadMs)

/** So long it works on searches before it says which have ended, and asks for others. */
const WORK_MS = 1

parentPort?.on('message', (question: SearchQuestion) => {
  // Where it fails the thread ends, and nobody is given an answer.
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
      const store = await Store.openExisting(question.state)
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

/** One file after the other: clients have theirs read by the same few threads of the process. */
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
