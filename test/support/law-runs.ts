/**
 * The runs of a law: a share of `all` by default, a few seconds' worth, each time of other values; all of them with
 * `LAW_RUNS=all` in the environment.
 */
export function lawRuns(all: number, share: number): number {
  return process.env['LAW_RUNS'] === 'all' ? all : Math.ceil(all * share)
}
