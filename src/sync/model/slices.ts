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

/** Lets others at the thread between slices. */
export async function stepByStep<Made>(steps: Steps<Made>): Promise<Made> {
  let startMs = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - startMs < SLICE_MS) continue
    await setImmediate()
    startMs = performance.now()
  }
}

/**
 * Works on the items on this thread, one after the other, and lets others at it between slices. For thousands of things each
 * of which takes longer to hand to another thread and back than to do, or waits for nothing but in rare cases.
 */
export async function inSlices<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void | Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let startMs = performance.now()
  for (const item of items) {
    const working = work(item)
    if (working !== undefined) await working
    if (performance.now() - startMs < SLICE_MS) continue
    await setImmediate()
    signal.throwIfAborted()
    startMs = performance.now()
  }
}
