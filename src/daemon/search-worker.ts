import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { SkillIndex } from '../serve/search/skill-index.ts'
import type { SkillQuery } from '../serve/search/query.ts'
import { Store } from '../sync/store/store.ts'
import { headingsOf } from './searched.ts'
import type { Searched } from './searched.ts'

// The thread that holds the indexes: to put thousands of skills into one takes a second, and a query takes as long as its words make it.

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
  | { readonly kind: 'find'; readonly index: number; readonly query: SkillQuery }
  | { readonly kind: 'forget'; readonly index: number }

/** `unknown`: there is no such index; the thread was ended since it was made. */
export type SearchAnswer =
  | { readonly kind: 'done' | 'unknown' }
  | { readonly kind: 'found'; readonly ids: readonly string[] }

const INDEXES = new Map<number, SkillIndex>()

/** By the digest of the SKILL.md: it is in more than one catalog, and in one generation after another. */
const HEADINGS = new Map<string, string>()
const MOST_HEADINGS = 20_000

/** Steps of niceness. */
const GIVING_WAY = 10

giveWay()
parentPort?.on('message', (question: SearchQuestion) => {
  // Where it fails the thread ends, and nobody is given an answer.
  void answer(question).then((answer) => parentPort?.postMessage(answer, []))
})

/** Whoever reads comes before who searches. Only Linux takes it for this thread alone: elsewhere the process would give way. */
function giveWay(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Math.min(getPriority() + GIVING_WAY, 19))
  } catch (error) {
    // A sandbox may forbid it: then all threads are equal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) throw error
  }
}

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
      const { text, limit } = question.query
      const ids = INDEXES.get(question.index)?.find(text, limit)
      return ids === undefined ? { kind: 'unknown' } : { kind: 'found', ids }
    }
    case 'forget':
      INDEXES.delete(question.index)
      return { kind: 'done' }
    default:
      return question satisfies never
  }
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
