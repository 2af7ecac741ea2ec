import { readFile, writeFile } from 'node:fs/promises'

/** The use of processes, as Linux counts it: also of those that answer no request. */

/** Processor time that a process and its children have taken so far, in milliseconds, if each has one thread. */
export async function cpuMsOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const all = [pid, ...children.split(' ').filter(Boolean).map(Number)]
  const times = await Promise.all(all.map(async (one) => readFile(`/proc/${one}/schedstat`, 'utf8')))
  return times.reduce((sum, time) => sum + Number.parseInt(time, 10) / 1e6, 0)
}

/** The memory that a process has resident, in KiB. */
export async function residentKiBOf(pid: number): Promise<number> {
  return statusOf(pid, 'VmRSS')
}

/** Runs some work. Returns the most memory that the process had resident meanwhile, in KiB. */
export async function peakKiBOf(pid: number, work: () => Promise<void>): Promise<number> {
  // Resets the peak to what is resident now (proc(5)).
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  await work()
  return statusOf(pid, 'VmHWM')
}

async function statusOf(pid: number, name: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1])
}

/** Processor time that a process, its children, and those that have ended took so far, in milliseconds. */
export async function cpuMsOfAll(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const living = await Promise.all(children.split(' ').filter(Boolean).map(ticksOf))
  const [own = 0, ended = 0] = await ticksOf(String(pid))
  return (own + ended + living.reduce((sum, [ticks = 0]) => sum + ticks, 0)) * MS_PER_TICK
}

/** The clock ticks of a process, and those of its children that have ended; none if it has ended. */
async function ticksOf(pid: string): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // proc(5): the fields after the name, which stands in parentheses; utime, stime, cutime and cstime are the 14th to the 17th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
  return [user + system, endedUser + endedSystem]
}

/** The clock tick of Linux, `sysconf(_SC_CLK_TCK)`: 100 a second. */
const MS_PER_TICK = 10
