/** Files in flight. Node has four threads for the disk by default, so twice as many keep them busy. */
export const WIDTH = 8

/**
 * Works on all items, at most `width` at once. After the first failure nothing more is begun, and what was begun has
 * ended when this throws: whoever cleans up then has nobody writing behind its back.
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
