import { setImmediate } from 'node:timers/promises'

/** How long others wait at the most, but for one item that takes longer by itself. */
const SLICE_MS = 8

/**
 * Works on the items on this thread, and lets others at it between slices. For many small calls to the disk, each of
 * which takes longer to hand to another thread and back than to do.
 */
export async function inSlices<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void,
  signal: AbortSignal,
): Promise<void> {
  let startMs = performance.now()
  for (const item of items) {
    work(item)
    if (performance.now() - startMs < SLICE_MS) continue
    await setImmediate()
    signal.throwIfAborted()
    startMs = performance.now()
  }
}
