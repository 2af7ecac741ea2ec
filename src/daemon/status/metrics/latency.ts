import type { Labels, Sample } from './family.ts'

/** Counts durations in the buckets of a histogram. */
export class Latency {
  /** The number of durations in each bucket; the last entry counts those above all buckets. */
  readonly #counts = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0)
  #sumMs = 0

  add(ms: number): void {
    let bucket = 0
    while (bucket < BOUNDS_MS.length && ms > (BOUNDS_MS[bucket] ?? 0)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sumMs += ms
  }

  /** Buckets are cumulative. */
  samples(labels: Labels): Sample[] {
    let total = 0
    const buckets = this.#counts.map((count, bucket) => {
      total += count
      return { suffix: '_bucket', labels: { ...labels, le: BOUNDS[bucket] ?? '+Inf' }, value: total }
    })
    const sum = { suffix: '_sum', labels, value: this.#sumMs / 1_000 }
    return [...buckets, sum, { suffix: '_count', labels, value: total }]
  }
}

/**
 * In seconds, as they are written. A read takes a tenth of a millisecond; a call that waits for a pull, two seconds.
 */
const BOUNDS = [
  '0.0005',
  '0.001',
  '0.0025',
  '0.005',
  '0.01',
  '0.025',
  '0.05',
  '0.1',
  '0.25',
  '0.5',
  '1.0',
  '2.5',
  '5.0',
]

const BOUNDS_MS = BOUNDS.map((bound) => Number(bound) * 1_000)
