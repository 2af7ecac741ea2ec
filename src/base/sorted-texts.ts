import { sorting } from './async/cooperative.ts'
import type { Steps } from './async/cooperative.ts'

/** Distinct texts in the order of their UTF-16 units. A text may be created only when it is read. */
export interface Sorted {
  readonly length: number
  at(index: number): string | undefined
}

/** Returns the index range of the texts with a prefix, by binary search. */
export function beginningWith(all: Sorted, begin: string): readonly [from: number, to: number] {
  const from = firstOf(all, 0, (text) => text >= begin)
  return [from, firstOf(all, from, (text) => !text.startsWith(begin))]
}

/**
 * Returns the first index where `holds` is true, if it is true for all later ones; the length if it is true for none.
 */
function firstOf(all: Sorted, from: number, holds: (text: string) => boolean): number {
  let [low, high] = [from, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(all.at(middle) ?? '')) high = middle
    else low = middle + 1
  }
  return low
}

/** Sorts texts in that order. */
export function* sortingTexts(texts: ReadonlySet<string>): Steps<readonly string[]> {
  return yield* sorting([...texts], (a, b) => (a < b ? -1 : 1))
}
