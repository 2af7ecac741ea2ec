/** What was measured in one round, by name: milliseconds, if a figure does not say otherwise. */
export type Times = Readonly<Record<string, number>>

/** One line of the table: what is ours against what it is measured by, in the same rounds. */
export interface Figure {
  readonly name: string
  readonly ours: Series
  readonly reference: Series
  /** The median of the rounds' own ratios: a load that comes and goes weighs on both sides of a round. */
  readonly ratio: number
  readonly target?: number
  /** Of the medians and samples. */
  readonly unit: Unit
}

export type Unit = 'ms' | 'KiB' | 'bytes' | 'requests' | 'statements' | 'transactions' | 'connections'

export interface Series {
  readonly what: string
  readonly median: number
  readonly samples: readonly number[]
}

/** How much is measured: all of it, or just enough to see that it runs. */
export interface Extent {
  readonly quick: boolean
}

/**
 * Runs everything once a round, each time beginning with another one; the first round warms up and does not count. What is
 * to be there before a round is made by `prepare`.
 */
export async function rounds(
  count: number,
  runs: readonly (() => Promise<Times>)[],
  prepare: () => Promise<void> = async () => {},
): Promise<Times[]> {
  const all: Times[] = []
  for (let round = 0; round <= count; round += 1) {
    await prepare()
    const times: Record<string, number> = {}
    const first = round % runs.length
    for (const run of [...runs.slice(first), ...runs.slice(0, first)]) Object.assign(times, await run())
    all.push(times)
  }
  return all.slice(1)
}

/** Compares two of the times of each round. */
export function figureOf(
  name: string,
  all: readonly Times[],
  [ours, reference]: readonly [string, string],
  target?: number,
  unit: Unit = 'ms',
): Figure {
  return {
    name,
    ours: seriesOf(ours, all),
    reference: seriesOf(reference, all),
    ratio: median(all.map((times) => timeOf(times, ours) / timeOf(times, reference))),
    ...(target !== undefined && { target }),
    unit,
  }
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

function seriesOf(what: string, all: readonly Times[]): Series {
  const samples = all.map((times) => timeOf(times, what))
  return { what, median: median(samples), samples }
}

function timeOf(times: Times, name: string): number {
  const ms = times[name]
  if (ms === undefined) throw new TypeError(`No round has measured "${name}"`)
  return ms
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}
