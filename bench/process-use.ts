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
