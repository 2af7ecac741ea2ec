import { sorting } from './cooperative.ts'
import type { Steps } from './cooperative.ts'

/** Texts in the order of their UTF-16 units, each once; they need not all be there before somebody asks for one. */
export interface Sorted {
  readonly length: number
  at(index: number): string | undefined
}

/** The part of them that begins with a text: from one index up to another. It takes as many steps as their number has digits. */
export function beginningWith(all: Sorted, begin: string): readonly [from: number, to: number] {
  const from = firstOf(all, 0, (text) => text >= begin)
  return [from, firstOf(all, from, (text) => !text.startsWith(begin))]
}

/** The first index for which it holds, where it holds for all that follow; the length where it holds for none. */
function firstOf(all: Sorted, from: number, holds: (text: string) => boolean): number {
  let [low, high] = [from, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(all.at(middle) ?? '')) high = middle
    else low = middle + 1
  }
  return low
}

/** Texts in that order. */
export function* sortingTexts(texts: ReadonlySet<string>): Steps<readonly string[]> {
  return yield* sorting([...texts], (a, b) => (a < b ? -1 : 1))
}
