import { readFile, readdir } from 'node:fs/promises'
import { codeOf } from '../../../base/error-code.ts'
import { VERSION } from '../../../serve/version.ts'
import type { Family } from './family.ts'
import { single } from './family.ts'

/**
 * The metrics of this process, with the usual names of Node programs. Values that the system does not provide are
 * absent. The event loop lag is not measured, since that needs a timer that never rests: the loop's utilization tells
 * as much.
 */
export async function processFamilies(): Promise<Family[]> {
  const { user, system } = process.cpuUsage()
  const memory = process.memoryUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return [
    {
      name: 'skillsyncd_build_info',
      kind: 'gauge',
      help: 'Always 1; the labels have the version of the program and of Node.',
      samples: [{ labels: { version: VERSION, node: process.versions.node }, value: 1 }],
    },
    single('process_cpu_seconds_total', 'counter', 'Processor time, of all threads.', (user + system) / 1_000_000),
    single('process_resident_memory_bytes', 'gauge', 'Resident memory.', memory.rss),
    single(
      'process_start_time_seconds',
      'gauge',
      'The start time of the process, in seconds since 1970.',
      performance.timeOrigin / 1_000,
    ),
    ...(await descriptorFamilies()),
    single('nodejs_heap_size_total_bytes', 'gauge', 'The heap of the main thread.', memory.heapTotal),
    single('nodejs_heap_size_used_bytes', 'gauge', 'The used part of that heap.', memory.heapUsed),
    single('nodejs_external_memory_bytes', 'gauge', 'Memory outside the heap that belongs to it.', memory.external),
    single(
      'nodejs_eventloop_active_seconds_total',
      'counter',
      'Time in which the event loop of the main thread worked.',
      active / 1_000,
    ),
    single('nodejs_eventloop_idle_seconds_total', 'counter', 'Time in which it waited for events.', idle / 1_000),
  ]
}

async function descriptorFamilies(): Promise<Family[]> {
  const [open, limits] = await Promise.all([
    ifTold(readdir('/proc/self/fd')),
    ifTold(readFile('/proc/self/limits', 'utf8')),
  ])
  const most = /^Max open files +(\d+)/m.exec(limits ?? '')?.[1]
  return [
    // One of them is the open folder itself.
    ...(open === undefined ? [] : [single('process_open_fds', 'gauge', 'Open file descriptors.', open.length - 1)]),
    ...(most === undefined
      ? []
      : [single('process_max_fds', 'gauge', 'File descriptors that may be open.', Number(most))]),
  ]
}

/** `undefined` on systems without such a file, and in sandboxes that hide it. */
async function ifTold<Told>(reading: Promise<Told>): Promise<Told | undefined> {
  return reading.catch((error: unknown) => {
    if (codeOf(error) === undefined) throw error
    return undefined
  })
}
