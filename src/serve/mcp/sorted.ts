import type { Steps } from '../../sync/model/slices.ts'

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

/** Texts in order. Sorting a hundred thousand at one go takes longer than others should wait. */
export function* sorting(texts: ReadonlySet<string>): Steps<readonly string[]> {
  const distinct = [...texts]
  let runs: (readonly string[])[] = []
  for (let at = 0; at < distinct.length; at += RUN) {
    runs.push(distinct.slice(at, at + RUN).toSorted())
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merging(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

/** Sorted at one go. */
const RUN = 1_000

function* merging(some: readonly string[], others: readonly string[]): Steps<readonly string[]> {
  const all: string[] = []
  let [at, otherAt] = [0, 0]
  for (;;) {
    const [one, other] = [some[at], others[otherAt]]
    if (one === undefined || other === undefined) return all.concat(some.slice(at), others.slice(otherAt))
    if (one < other) at += 1
    else otherAt += 1
    all.push(one < other ? one : other)
    if (all.length % RUN === 0) yield
  }
}
