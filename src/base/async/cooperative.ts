import { setImmediate } from 'node:timers/promises'

/** The longest time that the thread is blocked, unless a single item takes longer. */
const SLICE_MS = 8

/** Work that yields wherever other work may run. A caller can run it at once, or in slices if other work would wait. */
export type Steps<Made> = Generator<undefined, Made, undefined>

export function runNow<Made>(steps: Steps<Made>): Made {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * Runs the steps and lets other work on the thread run between slices. `turn` returns a promise for the start of the
 * next slice, or `undefined` if it may begin now.
 */
export async function runInSlices<Made>(steps: Steps<Made>, turn?: () => Promise<void> | undefined): Promise<Made> {
  let startMs = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - startMs < SLICE_MS) continue
    await setImmediate()
    await turn?.()
    startMs = performance.now()
  }
}

/** Sorts the items in steps. Sorting a hundred thousand at once takes longer than other work should wait. */
export function* sorting<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number): Steps<readonly Item[]> {
  let runs: (readonly Item[])[] = []
  for (let at = 0; at < items.length; at += RUN) {
    runs.push(items.slice(at, at + RUN).toSorted(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merging(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

/** The number of items that are sorted at once. */
const RUN = 1_000

function* merging<Item>(
  some: readonly Item[],
  others: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<readonly Item[]> {
  const [last, firstOther] = [some.at(-1), others[0]]
  // Most lists come sorted.
  if (last !== undefined && firstOther !== undefined && compare(last, firstOther) <= 0) return some.concat(others)
  const all: Item[] = []
  let [at, otherAt] = [0, 0]
  for (;;) {
    const [one, other] = [some[at], others[otherAt]]
    if (one === undefined || other === undefined) return all.concat(some.slice(at), others.slice(otherAt))
    const isFirst = compare(one, other) <= 0
    if (isFirst) at += 1
    else otherAt += 1
    all.push(isFirst ? one : other)
    if (all.length % RUN === 0) yield
  }
}

/**
 * Works on the items on this thread, one by one, and lets other work run between slices. For thousands of items whose
 * transfer to another thread and back takes longer than the work, or whose work rarely waits.
 */
export async function inSlices<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let startMs = performance.now()
  for (const item of items) {
    const working = work(item)
    if (working !== undefined) await working
    if (performance.now() - startMs < SLICE_MS) continue
    await setImmediate()
    signal?.throwIfAborted()
    startMs = performance.now()
  }
}
