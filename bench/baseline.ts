import type { Figure } from './figure.ts'

/** The ratio of each figure of a full run, by `keyOf`. */
export type Baseline = Readonly<Record<string, number>>

/** What a figure compares with what. */
export function keyOf({ name, ours, reference }: Pick<Figure, 'name' | 'ours' | 'reference'>): string {
  return `${name}: ${ours.what} / ${reference.what}`
}

export function baselineOf(figures: readonly Figure[]): Baseline {
  return Object.fromEntries(figures.map((figure) => [keyOf(figure), Number(figure.ratio.toFixed(3))]))
}

/** What has become worse, a figure a line: its ratio is more than a quarter over that of before, or nobody measured it. */
export function worseThan(before: Baseline, now: Baseline): string[] {
  return Object.entries(before).flatMap(([key, ratio]) => {
    const next = now[key]
    if (next === undefined) return [`${key} was not measured; it was ${ratio.toFixed(2)}`]
    // What is no number is no better.
    if (next <= ratio * ROOM) return []
    return [`${key} is ${next.toFixed(2)}; it was ${ratio.toFixed(2)}`]
  })
}

const ROOM = 1.25
