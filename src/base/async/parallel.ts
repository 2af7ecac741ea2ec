/**
 * The number of files in flight. Node has four threads for the disk by default, so twice as many files keep them busy.
 */
export const WIDTH = 8

/**
 * Works on all items, at most `width` at once. After the first failure it begins nothing more, and throws only after
 * all running work has ended. So nothing writes any more while the caller cleans up.
 */
export async function inParallel<Item>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const left = items[Symbol.iterator]()
  let failed = false
  const lane = async (): Promise<void> => {
    while (!failed) {
      const next = left.next()
      if (next.done === true) return
      try {
        signal.throwIfAborted()
        await work(next.value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: width }, lane))
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure !== undefined) throw failure.reason
}
