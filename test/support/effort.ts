/**
 * The seconds of CPU that this process spent since `since`, for tests that an effort does not grow with the square of the input.
 * Other than the time on a clock, they are nearly the same on a machine that has much else to do.
 */
export function cpuSeconds(since: NodeJS.CpuUsage): number {
  return process.cpuUsage(since).user / 1_000_000
}
