/**
 * The runs of a law: a share of `all` by default, a few seconds' worth, each time of other values; all of them with
 * `LAW_RUNS=all` in the environment.
 */
export function lawRuns(all: number, share: number): number {
  return HAS_ALL_RUNS ? all : Math.ceil(all * share)
}

/** True in the lane of the laws, which has the time to find the smallest counterexample. */
export const HAS_ALL_RUNS = process.env['LAW_RUNS'] === 'all'
