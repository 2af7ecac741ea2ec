import { parentPort } from 'node:worker_threads'
import type { PendingChange, SourceChange } from '../../../serve/page/page-data.ts'
import { Store } from '../../../sync/store/store.ts'
import { comparisonOf, pendingComparison } from '../changes/comparison.ts'
import type { Compared, PendingSides } from '../changes/comparison.ts'
import { historyOf } from '../changes/history.ts'
import type { StoredGeneration } from '../changes/history.ts'
import { lastChangesOf } from './last-changes.ts'
import type { LastChanges } from './last-changes.ts'

// The worker thread that reads earlier generations. Each can take as long as a start, and the process has clients
// waiting.

export type PastQuestion =
  | { readonly kind: 'history'; readonly state: string; readonly most: number }
  | { readonly kind: 'last-changes'; readonly state: string }
  | {
      readonly kind: 'compare'
      readonly state: string
      readonly from: number
      readonly to: number
      readonly sources: readonly Compared[]
    }
  | { readonly kind: 'pending'; readonly state: string; readonly sides: PendingSides }

export type PastAnswer =
  | { readonly kind: 'history'; readonly moments: readonly StoredGeneration[] }
  | { readonly kind: 'last-changes'; readonly sources: readonly LastChanges[] }
  | { readonly kind: 'compare'; readonly sources: readonly SourceChange[] | undefined }
  | { readonly kind: 'pending'; readonly change: PendingChange | undefined }

parentPort?.on('message', (question: PastQuestion) => {
  // If it fails, the thread ends without an answer.
  void answer(question).then((answer) => parentPort?.postMessage(answer, []))
})

async function answer(question: PastQuestion): Promise<PastAnswer> {
  using store = await Store.openExisting(question.state)
  switch (question.kind) {
    case 'history':
      return { kind: 'history', moments: store === undefined ? [] : await historyOf(store, question.most) }
    case 'last-changes':
      return { kind: 'last-changes', sources: store === undefined ? [] : await lastChangesOf(store) }
    case 'compare': {
      const { from, to, sources } = question
      return { kind: 'compare', sources: store && (await comparisonOf(store, from, to, sources)) }
    }
    case 'pending':
      return { kind: 'pending', change: store && (await pendingComparison(store, question.sides)) }
    default:
      return question satisfies never
  }
}
