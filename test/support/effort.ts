import { readFile } from 'node:fs/promises'

/**
 * The seconds of CPU that this process spent since `since`, for tests that an effort does not grow with the square of the input.
 * Other than the time on a clock, they are nearly the same on a machine that has much else to do.
 */
export function cpuSeconds(since: NodeJS.CpuUsage): number {
  return process.cpuUsage(since).user / 1_000_000
}

/** The seconds of CPU that another process has spent. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // What stands in parentheses is its name, which may hold anything.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) / TICKS
}

/** The bytes of memory that another process has now, and those that it had at its most. */
export async function memoryOf(pid: number): Promise<{ readonly now: number; readonly most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const bytesOf = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024
  return { now: bytesOf('VmRSS'), most: bytesOf('VmHWM') }
}

/** Of a second, on every Linux that there is. */
const TICKS = 100
