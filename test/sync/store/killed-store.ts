import type { Store } from '../../../src/sync/store/store.ts'

/** The point at which a process ends: before its call of this number, from 0 on, or once that call is done. */
export interface Kill {
  readonly call: number
  readonly isDone: boolean
}

/** The error of all calls after the end of the process. */
export class Killed extends Error {}

/**
 * Closes the store at a call of it, as the end of its process does: what is in memory is lost, and no later call writes.
 * `reads` count too if this is true. Returns a function that says if the store was reached.
 */
export function killAt(store: Store, { call, isDone }: Kill, reads = false): () => boolean {
  let count = 0
  let isKilled = false
  const kill = (): never => {
    if (!isKilled) store[Symbol.dispose]()
    isKilled = true
    throw new Killed('The process was killed')
  }
  const until =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const at = count
      count += 1
      if (isKilled || (at === call && !isDone)) kill()
      const result = await work(...args)
      if (isKilled || at === call) kill()
      return result
    }
  const { objects, followed } = store
  Object.assign(objects, { put: until(objects.put.bind(objects)), swap: until(objects.swap.bind(objects)) })
  if (reads) Object.assign(objects, { get: until(objects.get.bind(objects)) })
  Object.assign(followed, { write: until(followed.write.bind(followed)) })
  return () => isKilled
}
