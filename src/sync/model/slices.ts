import { setImmediate } from 'node:timers/promises'

/** How long others wait at the most, but for one item that takes longer by itself. */
const SLICE_MS = 8

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
