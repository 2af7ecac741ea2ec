import { parentPort } from 'node:worker_threads'
import type { Steps } from '../sync/model/slices.ts'
import { SkillIndex } from '../serve/search/skill-index.ts'
import type { SkillQuery } from '../serve/search/query.ts'
import { Store } from '../sync/store/store.ts'
import { headingsOf } from './searched.ts'
import type { Searched } from './searched.ts'
import { threadMs } from './thread-time.ts'

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
  /** One step of a search: the next where that has begun. */
  | { readonly kind: 'find'; readonly index: number; readonly search: number; readonly query: SkillQuery }
  | { readonly kind: 'forget'; readonly index: number }

/** `unknown`: there is no such index; the thread was ended since it was made. `more`: the search has another step. */
export type SearchAnswer =
  | { readonly kind: 'done' | 'unknown' }
  | { readonly kind: 'more'; readonly tookMs: number }
  | { readonly kind: 'found'; readonly tookMs: number; readonly ids: readonly string[] }

const INDEXES = new Map<number, SkillIndex>()

/** By the digest of the SKILL.md: it is in more than one catalog, and in one generation after another. */
const HEADINGS = new Map<string, string>()
const MOST_HEADINGS = 20_000

/** Those that have begun. One that is not gone on with, as its place was lost, is let go for others; it would begin anew. */
const SEARCHES = new Map<number, Steps<string[]>>()
const MOST_SEARCHES = 64

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
      for (const id of question.gone) index.delete(id)
      const store = await Store.openExisting(question.state)
      for (const skill of question.skills) index.set({ ...skill.text, headings: await headingsIn(store, skill) })
      return { kind: 'done' }
    }
    case 'find': {
      const index = INDEXES.get(question.index)
      return index === undefined ? { kind: 'unknown' } : found(index, question)
    }
    case 'forget':
      INDEXES.delete(question.index)
      return { kind: 'done' }
    default:
      return question satisfies never
  }
}

function found(index: SkillIndex, { search, query }: SearchQuestion & { readonly kind: 'find' }): SearchAnswer {
  const beganMs = threadMs()
  const steps = SEARCHES.get(search) ?? index.finding(query.text, query.limit)
  SEARCHES.delete(search)
  const step = steps.next()
  const tookMs = threadMs() - beganMs
  if (step.done === true) return { kind: 'found', tookMs, ids: step.value }
  SEARCHES.set(search, steps)
  for (const oldest of SEARCHES.keys()) {
    if (SEARCHES.size <= MOST_SEARCHES) break
    SEARCHES.delete(oldest)
  }
  return { kind: 'more', tookMs }
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
