import { setImmediate } from 'node:timers/promises'

/** How long others wait at the most, but for one item that takes longer by itself. */
const SLICE_MS = 8

/**
 * Work that yields wherever others may come in between. So a thing can be made at once, where nobody waits, and in slices, where
 * many do.
 */
export type Steps<Made> = Generator<undefined, Made, undefined>

export function atOnce<Made>(steps: Steps<Made>): Made {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Lets others at the thread between slices. `turn`: resolves when the next one may begin; undefined where it may now. */
export async function stepByStep<Made>(steps: Steps<Made>, turn?: () => Promise<void> | undefined): Promise<Made> {
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

/** Items in order. Sorting a hundred thousand at one go takes longer than others should wait. */
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

/** Sorted at one go. */
const RUN = 1_000

function* merging<Item>(
  some: readonly Item[],
  others: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<readonly Item[]> {
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
 * Works on the items on this thread, one after the other, and lets others at it between slices. For thousands of things each
 * of which takes longer to hand to another thread and back than to do, or waits for nothing but in rare cases.
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
